import { ConnectionError, RoomboxError } from "./errors.ts";
import { Queue } from "./queue.ts";
import { faultOf, type Heard, type Socket } from "./socket.ts";
import { backoff, pause } from "./time.ts";
import type { Abortable } from "./types.ts";

/** Somebody who is present. Names are what people say of themselves. */
export interface Person {
  /** Of this line: who loses it comes back with another. */
  id: string;
  name: string;
  /** What they said last (`Presence.say`); empty if nothing. */
  state: string;
}

/** Who is there: who spoke last comes first, who never did last. */
export interface People {
  /** The id of this client. */
  you: string;
  people: Person[];
}

export interface PresenceOptions extends Abortable {
  /** 1 to 64 bytes of UTF-8 without control characters. */
  name: string;
}

/** What being present needs of the room. */
export interface Presentable {
  open(name: string, heard: Heard): Promise<Socket>;
  /** Throws why there is no being present, if there is a reason. */
  explain(): Promise<unknown>;
}

/** The close code that says that the room was deleted: docs/api.md, Presence. */
const DELETED = 4410;
const PING_MS = 30_000;
/** In bytes, as the server has it. */
const MAX_NAME = 64;

/**
 * A client that is present in a room. Iterate over who else is, told anew with each change; a line that is lost is replaced by
 * another, until this is closed or the room is deleted, which is an error with the code `gone`.
 */
export class Presence implements AsyncIterable<People> {
  readonly #to: Presentable;
  readonly #options: PresenceOptions;
  readonly #heard = new Queue<People>();
  #socket: Socket | undefined;
  #state: string | undefined;
  #losses = 0;
  #isOver = false;

  constructor(to: Presentable, options: PresenceOptions) {
    checkName(options.name); // a WebSocket does not say why it was refused, so it would be tried without end
    this.#to = to;
    this.#options = options;
    const ping = setInterval(() => this.#send("ping"), PING_MS);
    const aborted = () => this.#end(options.signal?.reason);
    options.signal?.addEventListener("abort", aborted);
    this.#keep()
      .catch((error: unknown) => this.#end(error))
      .finally(() => {
        clearInterval(ping);
        options.signal?.removeEventListener("abort", aborted);
      });
  }

  [Symbol.asyncIterator](): AsyncIterator<People, undefined> {
    return this.#heard[Symbol.asyncIterator]();
  }

  /** Tells the others something of this client, at most 256 bytes of UTF-8, instead of what it told before; puts it first. */
  say(state: string): void {
    this.#state = state;
    this.#send(state);
  }

  /** Leaves. The iteration ends. */
  close(): void {
    this.#end();
  }

  async #keep(): Promise<void> {
    const { name, signal } = this.#options;
    signal?.throwIfAborted();
    while (!this.#isOver) {
      const fault = await this.#line(name);
      if (fault) throw fault;
      if (!this.#isOver) await pause(backoff(++this.#losses), signal);
    }
  }

  /** From the opening of a line to its end; returns what is wrong with coming back, if anything is. */
  async #line(name: string): Promise<RoomboxError | undefined> {
    try {
      const socket = await this.#to.open(name, (message) => this.#hear(message));
      if (this.#isOver) {
        socket.close();
        return undefined;
      }
      this.#socket = socket;
      if (this.#state !== undefined) this.#send(this.#state);
      const { code, reason } = await socket.closed;
      return code === DELETED
        ? new RoomboxError("the room was deleted", "gone", { status: 410 })
        : faultOf(code, reason);
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
      await this.#explain();
      return undefined;
    } finally {
      this.#socket = undefined;
    }
  }

  async #explain(): Promise<void> {
    try {
      await this.#to.explain();
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error; // else there is no line, which says nothing of the room
    }
  }

  #hear(message: ArrayBuffer | string): void {
    if (typeof message !== "string" || !message.startsWith("{")) return; // a pong
    const { type, you, people } = JSON.parse(message);
    if (type !== "people") return;
    this.#losses = 0;
    this.#heard.put({ you, people });
  }

  #send(message: string): void {
    this.#socket?.send(message).catch(() => {}); // it is said anew on the next line
  }

  #end(error?: unknown): void {
    this.#isOver = true;
    this.#heard.end(error);
    this.#socket?.close();
  }
}

function checkName(name: string): void {
  const bytes = new TextEncoder().encode(name).length;
  if (bytes >= 1 && bytes <= MAX_NAME && !/\p{Cc}/u.test(name)) return;
  throw new TypeError(
    `name: expected 1 to ${MAX_NAME} bytes of UTF-8 without control characters, received ${JSON.stringify(name)}`,
  );
}
