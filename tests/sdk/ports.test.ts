import { expect, it } from "vitest";
import { roomOf } from "./server";

it("a port's URL is below its port, whatever the path says", () => {
  const { ports } = roomOf("http://h/base/");
  const root = "http://h/base/api/rooms/r/sandbox/ports/3000/";
  expect(ports.url(3000)).toBe(root);
  expect(ports.url(3000, "/a/../b/%2F?c=../..#d", { waitMs: 5 })).toBe(`${root}b/%2F?c=../..&wait_ms=5#d`);
  expect(ports.url(3000, "//h/x")).toBe(`${root}/h/x`);
  for (const path of ["/..", "..", "/../3001/", "/../../exec", "/%2e%2E/../exec", "/a\\..\\..\\..\\exec"])
    expect(() => ports.url(3000, path)).toThrow("leads out of it");
});
