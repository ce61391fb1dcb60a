import { type Attachable, Attachment, type AttachOptions } from "./attachment.ts";
import { ConnectionError, RoomboxError } from "./errors.ts";
import { type Decode, decodeResult, decoderOf, type ExecEvent, resumingEvents } from "./events.ts";
import type { Call, Http } from "./http.ts";
import type { Sockets, Tickets } from "./socket.ts";
import type { Abortable, Bytes, DataOf, ExecResult, OutputKind } from "./types.ts";

/** What executions of a room share. */
export interface RoomAccess extends Tickets {
  readonly http: Http;
  readonly sockets: Sockets;
  /** Of the room, from the root. */
  readonly path: string;
}

export interface EventsOptions extends Abortable {
  /** The `sequence` of the last event that is known already. */
  after?: number | undefined;
}

export interface StdinOptions extends Abortable {
  /** Ends the command's stdin behind these bytes. */
  eof?: boolean | undefined;
}

/** A handle to an execution that runs, or has run. It holds nothing open. */
export class Execution<Kind extends OutputKind = "text"> {
  readonly id: string;
  readonly #room: RoomAccess;
  readonly #path: string;
  readonly #decode: Decode<DataOf<Kind>>;

  constructor(room: RoomAccess, id: string, output: Kind | undefined) {
    this.id = id;
    this.#room = room;
    this.#path = `${room.path}/sandbox/executions/${encodeURIComponent(id)}`;
    this.#decode = decoderOf(output);
  }

  /** Its record as it stands, with its output so far. */
  async record({ signal }: Abortable = {}): Promise<ExecResult<DataOf<Kind>>> {
    const { result } = await this.#room.http.json<{ result: ExecResult }>({ method: "GET", path: this.#path, signal });
    return decodeResult(result, this.#decode);
  }

  /** Its record once it has ended. */
  async result(options: Abortable = {}): Promise<ExecResult<DataOf<Kind>>> {
    for await (const event of this.events(options)) {
      if (event.type === "exit") return event.result;
    }
    return this.record(options); // its sandbox died: the record says so
  }

  /** Its events, to the last. A lost line is resumed; who leaves the iteration leaves the command running. */
  events({ after, signal }: EventsOptions = {}): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
    const { http } = this.#room;
    const open = (last: number | undefined) => this.#eventsFrom(last, async ({ body }) => body, signal);
    return resumingEvents({ open, decode: this.#decode, signal, retries: http.retries, after });
  }

  /** Attaches to its output, input and terminal by a WebSocket. */
  attach(options: AttachOptions = {}): Promise<Attachment> {
    return Attachment.to(this.#attachable(), options);
  }

  /** Writes to its stdin, at most 4 MiB; settles when the command has taken it. How many bytes that was. */
  async stdin(input: string | Bytes, { eof, signal }: StdinOptions = {}): Promise<number> {
    const call = { method: "POST", path: `${this.#path}/stdin`, query: { eof }, body: input, signal };
    return (await this.#room.http.json<{ bytes: number }>(call)).bytes;
  }

  /** Signals its whole process tree; SIGKILL settles when nothing of that is left. 409 where it has ended. */
  async kill(signal: string | number = "SIGKILL", options: Abortable = {}): Promise<ExecResult<DataOf<Kind>>> {
    return this.#change("kill", { signal }, { ...options, repeatable: signal === "SIGKILL" });
  }

  /** Resizes its terminal. */
  async resize(cols: number, rows: number, options: Abortable = {}): Promise<ExecResult<DataOf<Kind>>> {
    return this.#change("resize", { cols, rows }, { ...options, repeatable: true });
  }

  async #change(what: string, body: object, how: Partial<Call>): Promise<ExecResult<DataOf<Kind>>> {
    const { result } = await this.#room.http.post<{ result: ExecResult }>(`${this.#path}/${what}`, body, how);
    return decodeResult(result, this.#decode);
  }

  #eventsFrom<T>(
    after: number | undefined,
    read: (response: Response) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const headers: Record<string, string> = after === undefined ? {} : { "last-event-id": `${after}` };
    return this.#room.http.send({ method: "GET", path: `${this.#path}/events`, headers, signal }, read);
  }

  #attachable(): Attachable {
    return {
      id: this.id,
      retries: this.#room.http.retries,
      open: (after, heard) => this.#room.sockets.open(`${this.#path}/attach`, { after }, this.#room, heard),
      explain: (after) => this.#explain(after),
      failure: () => this.#failure(),
    };
  }

  /** A WebSocket does not say why it was refused. The events are to be had from the same places, and do. */
  async #explain(after: number | undefined): Promise<void> {
    await this.#unlessForbidden(this.#eventsFrom(after, async ({ body }) => body?.cancel()));
  }

  async #failure(): Promise<void> {
    const record = await this.#unlessForbidden(this.record());
    if (record?.status !== "failed") return;
    throw new RoomboxError(record.error ?? "the execution failed", "execution_failed", { status: 500 });
  }

  /** A token that may attach need not be one that may read; and a line that is down says nothing of the execution. */
  async #unlessForbidden<T>(call: Promise<T>): Promise<T | undefined> {
    try {
      return await call;
    } catch (error) {
      if (error instanceof ConnectionError || (error instanceof RoomboxError && error.status === 403)) return undefined;
      throw error;
    }
  }
}
