import { ConnectionError, errorOf, isErrorBody, RoomboxError } from "./errors.ts";
import { type Control, inputFrames, readFrame, type Start } from "./frames.ts";
import { Queue } from "./queue.ts";
import { faultOf, type Socket } from "./socket.ts";
import { backoff, orAborted, pause } from "./time.ts";
import type { Abortable, Bytes } from "./types.ts";

/** A piece of what the command wrote, as it wrote it. A terminal writes all to stdout. */
export interface Output {
  stream: "stdout" | "stderr";
  data: Bytes;
  /** It was written before the line was there that brought it. */
  isPast: boolean;
}

export interface AttachOptions extends Abortable {
  /** Begin after this place in the output, as an event's `sequence` has it; absent: with the first that is kept. */
  after?: number | undefined;
  /** False: end where what is kept so far does. */
  follow?: boolean | undefined;
  /** Told of what was sent and refused, such as a size where there is no terminal. */
  onRefused?: ((error: RoomboxError) => void) | undefined;
}

/** What an attachment needs of the execution that it is of. */
export interface Attachable {
  readonly id: string;
  readonly retries: number;
  open(after: number | undefined, heard: (message: ArrayBuffer | string) => void): Promise<Socket>;
  /** Throws why there is no socket to be had after that place, if there is a reason. */
  explain(after: number | undefined): Promise<void>;
  /** Throws why the execution failed, if it did. */
  failure(): Promise<void>;
}

/** A line that held for so long was a good one. */
const STEADY_MS = 5_000;

const encoder = new TextEncoder();

/**
 * A client that is attached to an execution: gets its output, all of it in order, and writes to it. A line that is lost is
 * replaced by another that goes on exactly where it broke. Iterate over the output, once; what is not taken yet waits in memory.
 */
export class Attachment implements AsyncIterable<Output> {
  /** Of the execution. */
  readonly id: string;
  /** Its exit code, when it has ended. Rejects where there is none: it failed, or this client left. */
  readonly exit: Promise<number>;
  readonly #to: Attachable;
  readonly #options: AttachOptions;
  readonly #output = new Queue<Output>();
  #settle!: { resolve: (code: number) => void; reject: (error: unknown) => void };
  #socket: Promise<Socket>;
  /** All that comes next follows on this place; not known before the first message. */
  #at: number | undefined;
  /** The replay leaves something out, so that places in it are not known. */
  #truncated = false;
  #isOver = false;
  /** Lines lost in a row that brought nothing. */
  #losses = 0;
  /** This line is still telling what was written before. */
  #isReplay = true;
  /** Whether input was sent on this line; whether some may have been lost with the one before. */
  #hasSent = false;
  #isInDoubt = false;

  private constructor(to: Attachable, options: AttachOptions) {
    this.id = to.id;
    this.#to = to;
    this.#options = options;
    this.#at = options.after;
    this.exit = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.exit.catch(() => {}); // who iterates is told as well
    this.#socket = this.#open();
  }

  static async to(execution: Attachable, options: AttachOptions = {}): Promise<Attachment> {
    const { signal } = options;
    signal?.throwIfAborted();
    const attachment = new Attachment(execution, options);
    const aborted = () => attachment.#end(signal?.reason);
    signal?.addEventListener("abort", aborted);
    attachment.#keep().finally(() => signal?.removeEventListener("abort", aborted));
    await orAborted(attachment.#socket, signal, () => {});
    return attachment;
  }

  [Symbol.asyncIterator](): AsyncIterator<Output, undefined> {
    return this.#output[Symbol.asyncIterator]();
  }

  /**
   * Writes to the command's stdin; settles when it is on its way. After a lost line the next call rejects once with a
   * ConnectionError: what was written before may not have arrived, as the server does not say.
   */
  async write(input: string | Uint8Array): Promise<void> {
    const bytes = typeof input === "string" ? encoder.encode(input) : input;
    for (const frame of inputFrames(bytes)) await this.#input(frame);
  }

  /** Ends the command's stdin. As `write`. */
  end(): Promise<void> {
    return this.#input(JSON.stringify({ type: "stdin-eof" } satisfies Control));
  }

  /** Of a terminal. */
  resize(cols: number, rows: number): Promise<void> {
    return this.#send(JSON.stringify({ type: "resize", cols, rows } satisfies Control));
  }

  /** To the whole process tree. It comes behind input that was written before; `Execution.kill` does not. */
  signal(signal: string | number): Promise<void> {
    return this.#send(JSON.stringify({ type: "signal", signal } satisfies Control));
  }

  /** Leaves; the command runs on. The iteration ends behind what has come. */
  close(): void {
    this.#settle.reject(new RoomboxError("this client left before the command ended", "connection"));
    this.#finish();
  }

  async #input(message: Bytes | string): Promise<void> {
    await this.#socket;
    if (this.#isInDoubt) {
      this.#isInDoubt = false;
      throw new ConnectionError(
        "the line was lost, and input with it perhaps: what was written before may not have arrived",
      );
    }
    this.#hasSent = true;
    await this.#send(message);
  }

  async #send(message: Bytes | string): Promise<void> {
    const socket = await this.#socket;
    if (this.#isOver) throw new RoomboxError("the execution has ended, or this client has left it", "conflict");
    await socket.send(message);
  }

  /** Sees to it that there is a line until the end. */
  async #keep(): Promise<void> {
    try {
      for (;;) {
        const socket = await this.#socket;
        if (this.#isOver) return socket.close();
        const opened = Date.now();
        const { code, reason } = await socket.closed;
        if (this.#isOver) return;
        if (Date.now() - opened > STEADY_MS) this.#losses = 0;
        this.#socket = this.#reopen(faultOf(code, reason));
        this.#socket.catch(() => {}); // it is awaited above, and by who writes
      }
    } catch (error) {
      this.#end(error);
    }
  }

  async #reopen(fault: RoomboxError | undefined): Promise<Socket> {
    this.#isInDoubt ||= this.#hasSent;
    this.#hasSent = false;
    if (fault) throw fault;
    await this.#to.failure();
    if (++this.#losses > this.#to.retries) throw new ConnectionError("the WebSocket was lost again and again");
    if (this.#truncated) throw new ConnectionError("the line was lost, and places in a truncated replay are not known");
    return this.#open();
  }

  async #open(): Promise<Socket> {
    for (;;) {
      if (this.#losses > 0) await pause(backoff(this.#losses), this.#options.signal);
      try {
        return await this.#to.open(this.#at, (message) => this.#hear(message));
      } catch (error) {
        if (!(error instanceof ConnectionError)) throw error;
        await this.#to.explain(this.#at);
        if (this.#losses++ >= this.#to.retries) throw error;
      }
    }
  }

  #hear(message: ArrayBuffer | string): void {
    if (this.#isOver) return;
    try {
      if (typeof message === "string") this.#hearText(JSON.parse(message));
      else this.#hearFrame(message);
    } catch (error) {
      this.#end(
        new RoomboxError("the server said what is no message of this protocol", "unexpected_answer", { cause: error }),
      );
    }
  }

  #hearText(text: Start | unknown): void {
    const start = text as Start;
    if (isErrorBody(text)) this.#options.onRefused?.(errorOf(text));
    else if (start.type === "start") {
      this.#at = start.sequence;
      this.#isReplay = true;
      this.#truncated = start.truncated === true;
    }
  }

  #hearFrame(message: ArrayBuffer): void {
    const frame = readFrame(message);
    if (frame.type === "exit") {
      this.#settle.resolve(frame.code);
      this.#finish();
    } else if (frame.type === "replayEnd") {
      this.#isReplay = false;
      if (this.#options.follow === false) this.close();
    } else {
      this.#losses = 0;
      this.#at = (this.#at ?? 0) + frame.data.length;
      this.#output.put({ stream: frame.type, data: frame.data, isPast: this.#isReplay });
    }
  }

  #end(error: unknown): void {
    this.#settle.reject(error);
    this.#finish(error);
  }

  #finish(error?: unknown): void {
    this.#isOver = true;
    this.#output.end(error);
    this.#socket.then((socket) => socket.close()).catch(() => {}); // there is none to close
  }
}
