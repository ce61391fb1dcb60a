import { describe, expect, it } from "vitest";
import { type SseMessage, SseParser } from "../../sdk/sse";

const encoder = new TextEncoder();

function parse(pieces: Uint8Array[]): SseMessage[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}
const parseText = (text: string) => parse([encoder.encode(text)]);

const STREAM =
  '\uFEFFevent: start\nid: 1\ndata: {"é":1}\n\n: ping\n\nevent:stdout\r\nid:5\r\ndata: a\r\ndata:  b\r\n\r\n' +
  "data\rdata: 😀\r\rid: 9\nevent: exit\ndata: end\n\n";
const MESSAGES = [
  { event: "start", id: "1", data: '{"é":1}' },
  { event: "stdout", id: "5", data: "a\n b" },
  { event: "message", id: "5", data: "\n😀" },
  { event: "exit", id: "9", data: "end" },
];

describe("a stream of events", () => {
  it("is read whole", () => {
    expect(parseText(STREAM)).toEqual(MESSAGES);
  });

  it("is the same byte by byte, and cut at any two places", () => {
    const bytes = encoder.encode(STREAM);
    expect(parse(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(MESSAGES);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const pieces = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        expect(parse(pieces), `${first} ${second}`).toEqual(MESSAGES);
      }
    }
  });

  it("has no message that is not ended, whatever was cut off", () => {
    const bytes = encoder.encode("data: one\n\nid: 2\nevent: exit\ndata: two\n\n");
    for (let end = 0; end < bytes.length; end++) expect(parse([bytes.subarray(0, end)]).length).toBe(end < 11 ? 0 : 1);
  });

  it("is read as the standard has it where it is odd", () => {
    const one = (text: string) => parseText(`${text}\n\n`)[0];
    expect(one("data")).toMatchObject({ data: "" });
    expect(one("data:x:y")).toMatchObject({ data: "x:y" });
    expect(one("data:  x")).toMatchObject({ data: " x" });
    expect(one("event: exit")).toBeUndefined();
    expect(one("id: a\0b\ndata: x")).toMatchObject({ id: "" });
    expect(one("retry: 5\nunknown: y\n data: no")).toBeUndefined();
    expect(parseText("event: exit\n\ndata: x\n\n")).toEqual([{ event: "message", id: "", data: "x" }]);
  });
});
