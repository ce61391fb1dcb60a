import { describe, expect, it } from "vitest";
import { inputFrames, MAX_MESSAGE, readFrame } from "../../sdk/frames";

const frame = (...bytes: number[]) => Uint8Array.from(bytes).buffer;

describe("a message of the server", () => {
  it("is output, an exit or the end of the replay", () => {
    expect(readFrame(frame(1, 104, 0, 255))).toEqual({ type: "stdout", data: Uint8Array.of(104, 0, 255) });
    expect(readFrame(frame(2))).toEqual({ type: "stderr", data: new Uint8Array() });
    expect(readFrame(frame(3, 0, 0, 0, 137))).toEqual({ type: "exit", code: 137 });
    expect(readFrame(frame(3, 255, 255, 255, 255))).toEqual({ type: "exit", code: -1 });
    expect(readFrame(frame(4))).toEqual({ type: "replayEnd" });
  });

  it("is refused where it is cut, too long, or of no channel", () => {
    for (const bytes of [[], [0], [0, 1], [3], [3, 0, 0, 0], [3, 0, 0, 0, 0, 0], [4, 1], [5], [255, 1]]) {
      expect(() => readFrame(frame(...bytes)), `${bytes}`).toThrow(SyntaxError);
    }
  });
});

describe("input", () => {
  it("goes in messages of which none is too large, and comes out as it was", () => {
    for (const size of [0, 1, MAX_MESSAGE - 2, MAX_MESSAGE - 1, MAX_MESSAGE, 2 * MAX_MESSAGE + 3]) {
      const input = Uint8Array.from({ length: size }, (_, i) => i % 251);
      const frames = [...inputFrames(input)];
      for (const each of frames)
        expect([each[0], each.length <= MAX_MESSAGE, each.length > 1]).toEqual([0, true, true]);
      const out = Buffer.concat(frames.map((each) => each.subarray(1)));
      expect(out.equals(input), `${size}`).toBe(true);
    }
  });
});
