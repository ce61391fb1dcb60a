import { expect, it } from "vitest";
import { fieldOf, readFields, writeFields } from "../../worker/fields";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const encode = (line: string) => new TextEncoder().encode(line);

it("writes what the core reads, and reads it back", () => {
  const bytes = writeFields(["id", "exec_1"], ["exit_code", 7], ["stdout", encode("é\n")], ["stderr", ""]);
  expect(text(bytes)).toBe("id 6\nexec_1exit_code 1\n7stdout 3\né\nstderr 0\n");
  expect([...readFields(bytes)].map(([name, value]) => [name, text(value)])).toEqual([
    ["id", "exec_1"],
    ["exit_code", "7"],
    ["stdout", "é\n"],
    ["stderr", ""],
  ]);
});

it("has the last of a name count", () => {
  expect(fieldOf(writeFields(["status", "running"], ["status", "failed"]), "status")).toBe("failed");
  expect(fieldOf(new Uint8Array(), "status")).toBeUndefined();
});

it.each(["id", "id 3\nab", "id x\n", "id -1\n", " 1\na", "id 1\nab"])("refuses %j", (line) => {
  expect(() => [...readFields(encode(line))]).toThrow("not fields");
});
