import { type Bytes, concat } from "./bytes";

/** A record as the agent sends it: a line `id status head-size output-size`, then head and output. */
export interface Frame {
  id: string;
  status: string;
  head: Uint8Array;
  output: Uint8Array;
}

/** What an agent that keeps to wasm/protocol/limits.h stays well below. */
const MAX_LINE_BYTES = 256;
const MAX_HEAD_BYTES = 2 << 20;
const MAX_OUTPUT_BYTES = 4 << 20;

const NEWLINE = 0x0a;
const LINE = /^(exec_[0-9a-f]+) ([a-z]+) (\d+) (\d+)$/;
const decoder = new TextDecoder();

/** The frames of a stream, each as soon as it is whole. Throws on what is not a frame, and where the stream ends in one. */
export async function* readFrames(stream: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  const reader = new FrameReader();
  for await (const chunk of stream) yield* reader.push(chunk);
  if (!reader.isBetweenFrames) throw new Error("the records ended in a frame");
}

/** Puts frames together from chunks, however they are cut. Holds no more than one frame and one chunk. */
export class FrameReader {
  #line: Uint8Array = new Uint8Array();
  #body: Body | undefined;

  get isBetweenFrames(): boolean {
    return !this.#body && this.#line.byteLength === 0;
  }

  *push(chunk: Uint8Array): Generator<Frame> {
    let rest = chunk;
    while (rest.byteLength > 0) {
      rest = this.#body ? this.#body.fill(rest) : this.#readLine(rest);
      const frame = this.#body?.frame;
      if (!frame) continue;
      this.#body = undefined;
      yield frame;
    }
  }

  /** Takes a frame's line, or the part of it that is there; returns what follows. */
  #readLine(bytes: Uint8Array): Uint8Array {
    const end = bytes.indexOf(NEWLINE);
    const part = end < 0 ? bytes : bytes.subarray(0, end);
    if (this.#line.byteLength + part.byteLength > MAX_LINE_BYTES) throw new Error("a frame's line is too long");
    this.#line = concat(this.#line, part);
    if (end < 0) return bytes.subarray(bytes.byteLength);
    this.#body = new Body(decoder.decode(this.#line));
    this.#line = new Uint8Array();
    return bytes.subarray(end + 1);
  }
}

/** Head and output of a frame, as they come. */
class Body {
  readonly #id: string;
  readonly #status: string;
  readonly #headSize: number;
  readonly #bytes: Bytes;
  #filled = 0;

  constructor(line: string) {
    const [, id, status, headSize, outputSize] = LINE.exec(line) ?? [];
    if (id === undefined || status === undefined) throw new Error(`not a frame: ${JSON.stringify(line)}`);
    if (Number(headSize) > MAX_HEAD_BYTES || Number(outputSize) > MAX_OUTPUT_BYTES) {
      throw new Error(`a frame is too large: ${line}`);
    }
    this.#id = id;
    this.#status = status;
    this.#headSize = Number(headSize);
    this.#bytes = new Uint8Array(this.#headSize + Number(outputSize));
  }

  /** Takes what is missing off the bytes; returns the rest. */
  fill(bytes: Uint8Array): Uint8Array {
    const part = bytes.subarray(0, this.#bytes.byteLength - this.#filled);
    this.#bytes.set(part, this.#filled);
    this.#filled += part.byteLength;
    return bytes.subarray(part.byteLength);
  }

  get frame(): Frame | undefined {
    if (this.#filled < this.#bytes.byteLength) return undefined;
    const head = this.#bytes.subarray(0, this.#headSize);
    return { id: this.#id, status: this.#status, head, output: this.#bytes.subarray(this.#headSize) };
  }
}
