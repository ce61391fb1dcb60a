import { executionPath, origin } from "./client";

export const Channel = { stdin: 0, stdout: 1, stderr: 2, exit: 3, replayEnd: 4 } as const;

/** What a socket said: a message of a channel, a text, or its end. */
export type Said =
  | { channel: number; bytes: Buffer }
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as it is
  | { text: any }
  | { closed: number; reason: string };

const encoder = new TextEncoder();

/** A client attached to an execution. */
export class Attached {
  readonly #socket: WebSocket;
  readonly #said: Said[] = [];
  #wake = Promise.withResolvers<void>();

  private constructor(url: string) {
    this.#socket = new WebSocket(url);
    this.#socket.binaryType = "arraybuffer";
    this.#socket.addEventListener("message", ({ data }) => {
      if (typeof data === "string") return this.#hear({ text: JSON.parse(data) });
      const bytes = Buffer.from(data);
      this.#hear({ channel: bytes[0] ?? -1, bytes: bytes.subarray(1) });
    });
    this.#socket.addEventListener("close", ({ code, reason }) => this.#hear({ closed: code, reason }));
  }

  static async to(room: string, id: string, query = ""): Promise<Attached> {
    const client = new Attached(`${origin().replace("http", "ws")}${executionPath(room, id)}/attach${query}`);
    await new Promise((resolve, reject) => {
      client.#socket.addEventListener("open", resolve);
      client.#socket.addEventListener("error", () => reject(new Error("the socket was refused")));
    });
    return client;
  }

  /** What comes next; what was said since the last call comes first. */
  async next(): Promise<Said> {
    for (;;) {
      const said = this.#said.shift();
      if (said) return said;
      await this.#wake.promise;
    }
  }

  /** All that its output channels bring until they have brought a text; throws at the end of the socket. */
  async until(text: string): Promise<string> {
    let all = "";
    while (!all.includes(text)) {
      const said = await this.next();
      if ("closed" in said) throw new Error(`closed with ${said.closed} ${said.reason} after ${all}`);
      if ("bytes" in said) all += said.bytes;
    }
    return all;
  }

  async toEnd(): Promise<Said[]> {
    const all: Said[] = [];
    do all.push(await this.next());
    while (!("closed" in (all.at(-1) ?? {})));
    return all;
  }

  type(text: string): void {
    this.#socket.send(new Uint8Array([Channel.stdin, ...encoder.encode(text)]));
  }

  control(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  close(): void {
    this.#socket.close();
  }

  #hear(said: Said): void {
    this.#said.push(said);
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}

/** The bytes that a channel brought. */
export const bytesOn = (all: Said[], channel: number) =>
  Buffer.concat(all.flatMap((said) => ("bytes" in said && said.channel === channel ? [said.bytes] : [])));
