import { describe, expect, it } from "vitest";
import { concat } from "../../worker/bytes";
import { type Frame, FrameReader, readFrames } from "../../worker/frames";
import { frameOf } from "./fake-agent";

const encode = (text: string) => new TextEncoder().encode(text);
const frame = (n: number, output: string): Frame => ({
  id: `exec_${n.toString(16).padStart(20, "0")}`,
  status: n % 2 ? "completed" : "timeout",
  head: encode(`command 3\na\n${n}`),
  output: encode(output),
});
const frames = [frame(1, "stdout 2\n\n\n"), { ...frame(2, ""), head: encode("") }, frame(3, "stdout 4\n€\n")];
const bytes = concat(...frames.map(frameOf));

const streamOf = (...chunks: Uint8Array[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });

async function collect(...chunks: Uint8Array[]): Promise<Frame[]> {
  const read: Frame[] = [];
  for await (const each of readFrames(streamOf(...chunks))) read.push(each);
  return read;
}

describe("frames", () => {
  it("are the same wherever the stream is cut in two", async () => {
    for (let at = 0; at <= bytes.byteLength; at++) {
      expect(await collect(bytes.subarray(0, at), bytes.subarray(at))).toEqual(frames);
    }
  });

  it.each([1, 2, 3, 7])("are the same in chunks of %d", async (size) => {
    const chunks = Array.from({ length: Math.ceil(bytes.byteLength / size) }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
    expect(await collect(...chunks)).toEqual(frames);
  });

  it("come as soon as they are whole", () => {
    const reader = new FrameReader();
    const first = frameOf(frames[0] as Frame).byteLength;
    for (let at = 0; at < first - 1; at++) expect([...reader.push(bytes.subarray(at, at + 1))]).toEqual([]);
    expect([...reader.push(bytes.subarray(first - 1, first))]).toEqual([frames[0]]);
    expect(reader.isBetweenFrames).toBe(true);
  });

  it("that break off are an error, those before them are not lost", async () => {
    const ends = [0, ...frames.map((_, n) => concat(...frames.slice(0, n + 1).map(frameOf)).byteLength)];
    for (let at = 0; at < bytes.byteLength; at++) {
      const read: Frame[] = [];
      const all = (async () => {
        for await (const each of readFrames(streamOf(bytes.subarray(0, at)))) read.push(each);
      })();
      if (ends.includes(at)) await all;
      else await expect(all).rejects.toThrow("ended in a frame");
      expect(read).toEqual(
        frames.slice(
          0,
          ends.findLastIndex((end) => end <= at),
        ),
      );
    }
  });

  it.each([
    ["what is no frame", "<html>\n"],
    ["a line without an end", `exec_1 completed ${"1".repeat(300)}`],
    ["a head beyond all limits", "exec_1 completed 99999999 0\n"],
    ["an output beyond all limits", "exec_1 completed 0 99999999999999\n"],
    ["an empty line", "\n"],
  ])("refuse %s", async (_, text) => {
    await expect(collect(encode(text))).rejects.toThrow(/frame/);
  });
});
