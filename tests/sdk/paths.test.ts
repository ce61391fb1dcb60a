import { expect, it } from "vitest";
import { filePath, segment } from "../../sdk/paths";

it("encodes a path byte by byte", () => {
  expect(filePath("/workspace/a b%25.txt")).toBe("workspace/a%20b%2525.txt");
  expect(filePath("/é/'\"\n?#+&=;~_.-")).toBe("%C3%A9/%27%22%0A%3F%23%2B%26%3D%3B~_.-");
  expect(filePath(Uint8Array.of(47, 255, 0))).toBe("%FF%00");
  expect(filePath("/")).toBe("");
  expect(filePath("/d/")).toBe("d/");
  expect(filePath("/.../..a")).toBe(".../..a");
});

it("survives a URL as it is", () => {
  for (const path of ["/a//b", "/%2e%2e/x", "/\\x", "/a|b^`{}", "/\t"]) {
    const encoded = filePath(path);
    expect(new URL(`http://h/files/${encoded}`).pathname).toBe(`/files/${encoded}`);
    expect(decodeURIComponent(encoded)).toBe(path.slice(1));
  }
});

it("refuses what a URL would not keep", () => {
  for (const path of ["/a/../b", "/..", "/.", "/a/./b", "/a/.."]) expect(() => filePath(path)).toThrow('".."');
  for (const path of ["", "a", "./a"]) expect(() => filePath(path)).toThrow("absolute");
  for (const name of ["", ".", ".."]) expect(() => segment(name, "room")).toThrow("room");
  expect(segment("a/../b", "room")).toBe("a%2F..%2Fb"); // the server's to refuse
});
