import type { Attachment } from "./attachment.ts";
import { ConnectionError } from "./errors.ts";
import { decodeResult, decoderOf, type ExecEvent, isLast, readEvents } from "./events.ts";
import { Execution, type RoomAccess } from "./execution.ts";
import { Files } from "./files.ts";
import { type Http, jsonCall } from "./http.ts";
import { type PageOptions, pages } from "./pages.ts";
import { segment } from "./paths.ts";
import { Ports } from "./ports.ts";
import { Presence, type PresenceOptions } from "./presence.ts";
import { Shell } from "./shell.ts";
import type { Sockets } from "./socket.ts";
import { attachedEvents, FIRST } from "./stream.ts";
import { openTerminal, type TerminalOptions } from "./terminal.ts";
import { orAborted } from "./time.ts";
import type {
  Abortable,
  DataOf,
  Deletion,
  ExecResult,
  ExecutionSummary,
  OutputKind,
  RoomInfo,
  RunOptions,
  Scope,
  StartOptions,
  Status,
} from "./types.ts";
import { uniqueText } from "./unique.ts";

export interface StreamOptions<Kind extends OutputKind = "text"> extends RunOptions<Kind> {
  /**
   * False: over one line, by HTTP alone. The command waits for it if it is read slowly, and is killed if it breaks. Else it is
   * a WebSocket, resumed if it breaks, and what is not read yet waits in memory.
   */
  resume?: boolean | undefined;
}

export interface TokenOptions extends Abortable {
  scope: Scope[];
  /** Seconds; an hour if absent. */
  expiresIn?: number | undefined;
}

/** As a plain call has it. */
const STREAM_TIMEOUT_MS = 60_000;
/** How long what is streamed may run while its line is lost, or its reader dead. */
const LOST_MS = 30_000;

/** A room and its sandbox, which is made by the first call that needs it. */
export class Room {
  readonly id: string;
  readonly files: Files;
  readonly ports: Ports;
  readonly #http: Http;
  readonly #path: string;
  readonly #access: RoomAccess;

  constructor(http: Http, sockets: Sockets, id: string) {
    this.id = id;
    this.#http = http;
    this.#path = `/api/rooms/${segment(id, "room")}`;
    this.#access = { http, sockets, path: this.#path, ticket: (options) => this.ticket(options) };
    this.files = new Files(http, this.#path);
    this.ports = new Ports(http, this.#path);
  }

  /** Runs a command to its end; what it printed and how it ended, whatever the exit code. Who aborts has it killed. */
  async exec<Kind extends OutputKind = "text">(
    cmd: string,
    options: RunOptions<Kind> = {},
  ): Promise<ExecResult<DataOf<Kind>>> {
    const { result } = await this.#run(cmd, options, {}, answerOf);
    return decodeResult(result, decoderOf(options.output));
  }

  /** Starts a command that outlives the call, its stdin open. Who aborts before it is known has it killed. */
  async start<Kind extends OutputKind = "text">(
    cmd: string,
    options: StartOptions<Kind> = {},
  ): Promise<Execution<Kind>> {
    return this.execution((await this.#begin(cmd, options)).result.id, { output: options.output });
  }

  /**
   * Runs a command and tells its events as they happen. A lost line is resumed where it broke. Who leaves the iteration, or
   * aborts, has the command killed. Its time is a minute if `timeoutMs` says nothing else.
   */
  stream<Kind extends OutputKind = "text">(
    cmd: string,
    { resume = true, ...options }: StreamOptions<Kind> = {},
  ): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
    return resume ? this.#resumed(cmd, options) : this.#overOneLine(cmd, options);
  }

  /** A bash that keeps directory, variables and functions. Those with one name are one; without, one of its own. */
  shell(name = `shell-${uniqueText().slice(0, 8)}`): Shell {
    return new Shell(this, name);
  }

  /** Opens a terminal. */
  async terminal(options: TerminalOptions = {}): Promise<Attachment> {
    this.#access.sockets.check();
    return openTerminal(this, options);
  }

  /** A handle to an execution by its id. @param options `output` as it was started with */
  execution<Kind extends OutputKind = "text">(
    id: string,
    { output }: { output?: Kind | undefined } = {},
  ): Execution<Kind> {
    return new Execution(this.#access, segment(id, "id"), output);
  }

  /** What ran and runs, newest first, page by page as it is iterated over. */
  executions({ status, ...options }: PageOptions & { status?: Status } = {}): AsyncGenerator<ExecutionSummary, void> {
    return pages(this.#http, `${this.#path}/sandbox/executions`, "executions", { ...options, query: { status } });
  }

  /** How it stands; wakes nothing. */
  info({ signal }: Abortable = {}): Promise<RoomInfo> {
    return this.#http.json({ method: "GET", path: this.#path, signal });
  }

  /** Is there for the others who are, and hears of them; wakes nothing. */
  presence(options: PresenceOptions): Presence {
    const { sockets, path } = this.#access;
    return new Presence(
      {
        open: (name, heard) => sockets.open(`${path}/presence`, { name }, this.#access, heard),
        explain: () => this.info(),
      },
      options,
    );
  }

  /** Saves its files and ends its container, until the next call. */
  sleep({ signal }: Abortable = {}): Promise<RoomInfo> {
    return this.#http.json({ method: "POST", path: `${this.#path}/sleep`, signal, repeatable: true });
  }

  /** Ends it with its files, processes and records. */
  delete({ signal }: Abortable = {}): Promise<Deletion> {
    return this.#http.json({ method: "DELETE", path: this.#path, signal });
  }

  /** A room token, for a browser: needs an API key. */
  token({ scope, expiresIn, signal }: TokenOptions): Promise<{ token: string; expiresAt: string }> {
    return this.#http.post(`${this.#path}/tokens`, { scope, expires_in: expiresIn }, { signal, repeatable: true });
  }

  /** A ticket, for one WebSocket within a minute: `?ticket=`. */
  ticket({ signal }: Abortable = {}): Promise<{ ticket: string; expiresAt: string }> {
    return this.#http.json({ method: "POST", path: `${this.#path}/tickets`, signal, repeatable: true });
  }

  async *#resumed<Kind extends OutputKind>(
    cmd: string,
    options: RunOptions<Kind>,
  ): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
    this.#access.sockets.check();
    const input = options.shell === undefined ? { stdin: "" } : {};
    const bounds = { timeoutMs: STREAM_TIMEOUT_MS, maxRunAfterDisconnectMs: LOST_MS };
    const { result, sandboxName } = await this.#begin(cmd, { ...bounds, ...input, ...given(options) });
    const execution = this.execution(result.id, { output: options.output });
    let isOver = false;
    try {
      yield { type: "start", sequence: FIRST, id: result.id, sandboxName };
      for await (const event of attachedEvents(execution, options.output, options)) {
        isOver = isLast(event);
        yield event;
      }
    } finally {
      if (!isOver) await execution.kill().catch(() => {}); // it has ended, or cannot be reached: then its bounds end it
    }
  }

  async *#overOneLine<Kind extends OutputKind>(
    cmd: string,
    options: RunOptions<Kind>,
  ): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
    const body = await this.#run(cmd, options, { stream: true }, async (response) => response.body);
    let isOver = false;
    const broke = (cause?: unknown) =>
      new ConnectionError("the stream of events broke, which killed the command", cause);
    try {
      for await (const event of readEvents(body ?? new Blob([]).stream(), decoderOf(options.output))) {
        isOver = isLast(event);
        yield event;
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      throw broke(error);
    }
    if (!isOver) throw broke();
  }

  async #begin(cmd: string, options: StartOptions<OutputKind>): Promise<Answer> {
    const { signal, pty, maxRunAfterDisconnectMs, ...rest } = options;
    signal?.throwIfAborted();
    const how = {
      ...(pty ? { pty: pty === true ? {} : pty } : { detach: true }),
      max_run_after_disconnect_ms: maxRunAfterDisconnectMs,
    };
    const begun = this.#run(cmd, rest, how, answerOf);
    return orAborted(begun, signal, ({ result }) => this.execution(result.id).kill());
  }

  #run<T>(
    cmd: string,
    { cwd, env, timeoutMs, stdin, shell, output, idempotencyKey, signal }: RunOptions<OutputKind>,
    how: object,
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const encoding = output === "bytes" ? "base64" : undefined;
    const body = { cmd, cwd, env, timeout_ms: timeoutMs, stdin, shell, encoding, ...how };
    const call = jsonCall(`${this.#path}/sandbox/exec`, body);
    const key = idempotencyKey ?? uniqueText(); // what was sent twice runs once
    const headers = { ...call.headers, "idempotency-key": key };
    return this.#http.send({ ...call, headers, signal, repeatable: true }, read);
  }
}

/** What exec answers. */
interface Answer {
  result: ExecResult;
  sandboxName: string;
}
const answerOf = (response: Response) => response.json() as Promise<Answer>;

/** The options that are there: one that is undefined must not hide a default. */
function given<Options extends object>(options: Options): Options {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
}
