/** A message of a stream of Server-Sent Events. */
export interface SseMessage {
  event: string;
  /** The last id that the stream has told. */
  id: string;
  data: string;
}

/**
 * Parses a stream of events as the HTML standard has it (9.2.6), whatever pieces it comes in. A message that the stream does
 * not end is none.
 */
export class SseParser {
  readonly #decoder = new TextDecoder();
  /** The beginning of a line. */
  #rest = "";
  /** The piece before ended in CR: an LF that comes next belongs to it. */
  #afterCr = false;
  #event = "";
  #id = "";
  #data: string[] = [];

  /** The messages that a piece completes. */
  push(piece: Uint8Array): SseMessage[] {
    let text = this.#decoder.decode(piece, { stream: true });
    if (text === "") return [];
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text === "" ? false : text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? "";
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SseMessage | undefined {
    if (line === "") return this.#dispatch();
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    return undefined; // comments begin with the colon, and have no name that is known
  }

  #dispatch(): SseMessage | undefined {
    const message = { event: this.#event || "message", id: this.#id, data: this.#data.join("\n") };
    const isEmpty = this.#data.length === 0;
    this.#event = "";
    this.#data = [];
    return isEmpty ? undefined : message;
  }
}
