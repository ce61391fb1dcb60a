import { expect, it } from "vitest";
import { bytes, duration } from "../../worker/web/format";
import { listening } from "../../worker/web/listening";
import { slowdown } from "../../worker/web/pace";
import { keyOf, pathIn, shown } from "../../worker/web/paths";
import { formatSize, sizeIn } from "../../worker/web/terminal-size";

it("says how long and how large something is", () => {
  const times = [0, 999, 1000, 59_949, 60_000, 125_000, 3_840_000].map(duration);
  expect(times).toEqual(["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min 0 s", "2 min 5 s", "1 h 4 min"]);
  expect([0, 17, 1023, 1024, 1536, 5 << 20].map(bytes)).toEqual([
    "0 B",
    "17 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "5.0 MiB",
  ]);
});

it("takes a size from others that a terminal can have, and no other word", () => {
  expect(sizeIn(formatSize({ cols: 120, rows: 40 }))).toEqual({ cols: 120, rows: 40 });
  expect(sizeIn("1x1")).toEqual({ cols: 20, rows: 5 });
  expect(sizeIn("9999x9999")).toEqual({ cols: 400, rows: 200 });
  for (const word of ["", "80", "80x", "x24", "-80x24", "80x24 ", "8e1x24", "80000x24"])
    expect(sizeIn(word)).toBeUndefined();
});

it("finds the ports that the kernel says listen, but not the sandbox's own", () => {
  const listing = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0100007F:0BB9 0100007F:0BB8 01 00000000:00000000 00:00000000 00000000  1000        0 3 1
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 00000000:00000000
   1: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 00000000:00000000
`;
  expect(listening(listing)).toEqual([3000, 80]);
  expect(listening("")).toEqual([]);
});

it("names what a directory has, in bytes where that is no UTF-8", () => {
  expect(pathIn("/workspace", { name: "a b" })).toBe("/workspace/a b");
  expect(pathIn("/", { name: "etc" })).toBe("/etc");
  const odd = pathIn("/w", { name: "a\ufffd", nameBase64: "Yf8=" });
  expect(odd).toEqual(Uint8Array.from([47, 119, 47, 97, 255]));
  expect(pathIn(odd, { name: "é" })).toEqual(Uint8Array.from([47, 119, 47, 97, 255, 47, 195, 169]));
  expect(shown(odd)).toBe("/w/a\ufffd");
  expect(keyOf(odd)).not.toBe(keyOf("/w/a\ufffd"));
});

it("looks less often where there are many, so that a room's calls are enough for all", () => {
  expect([1, 8, 16, 64].map(slowdown)).toEqual([1, 1, 2, 8]);
});
