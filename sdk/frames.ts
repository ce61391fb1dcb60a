import type { Bytes } from "./types.ts";

/** The first byte of a binary message: docs/api.md, Attach. */
export const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, exit: 3, replayEnd: 4 } as const;

/** Bytes of a message to the server, at most; it takes 4 MiB, and answers a signal that comes behind one sooner the smaller it is. */
export const MAX_MESSAGE = 1 << 20;

/** What a binary message of the server says. */
export type Frame = { type: "stdout" | "stderr"; data: Bytes } | { type: "exit"; code: number } | { type: "replayEnd" };

/** Reads a message; throws where it is none of the protocol. */
export function readFrame(message: ArrayBuffer): Frame {
  const bytes = new Uint8Array(message);
  switch (bytes[0]) {
    case CHANNEL.stdout:
      return { type: "stdout", data: bytes.subarray(1) };
    case CHANNEL.stderr:
      return { type: "stderr", data: bytes.subarray(1) };
    case CHANNEL.exit:
      if (bytes.length === 5) return { type: "exit", code: new DataView(message).getInt32(1) };
      break;
    case CHANNEL.replayEnd:
      if (bytes.length === 1) return { type: "replayEnd" };
  }
  throw new SyntaxError(
    `expected a message of the attach protocol, received ${bytes.length} bytes of channel ${bytes[0]}`,
  );
}

/** Input for the command, in messages that are not too large. */
export function* inputFrames(input: Uint8Array): Generator<Bytes> {
  const most = MAX_MESSAGE - 1;
  for (let at = 0; at < input.length; at += most) {
    const piece = input.subarray(at, at + most);
    const frame = new Uint8Array(piece.length + 1);
    frame[0] = CHANNEL.stdin;
    frame.set(piece, 1);
    yield frame;
  }
}

/** What a client may ask for by text. */
export type Control =
  | { type: "stdin-eof" }
  | { type: "resize"; cols: number; rows: number }
  | { type: "signal"; signal: string | number };

/** The server's first message. */
export interface Start {
  type: "start";
  id: string;
  sandboxName: string;
  /** Output begins after this place. */
  sequence: number;
  /** Of an ended execution that wrote more than is stored. */
  truncated?: boolean;
}
