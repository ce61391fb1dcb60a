import { type Bytes, bytesOf, concat } from "./bytes";
import { type Delivery, isNotListening, LOOK_MS, type SandboxContainer } from "./container";
import { Feed } from "./feed";
import { type Field, fieldOf, writeFields } from "./fields";
import { readFrames } from "./frames";
import { digestOf, Keys } from "./keys";
import { type Outcome, type OutcomeName, outcomeName, outcomeReply } from "./outcome";
import { MAX_RECORDS, type OnEnd, Records } from "./records";
import { traceIdOf } from "./trace";
import { within } from "./within";

/** The id of an execution: of the one that a request is about, of a new one for the agent, of one that came of a reply's request. */
export const EXECUTION_HEADER = "roombox-execution";
/** How many bytes of an exec's body, at its beginning, are the seed of its record and not the caller's. */
export const SEED_HEADER = "roombox-seed";
/** Whose call it is: `Caller.name`. */
export const CALLER_HEADER = "roombox-caller";
const KEY_HEADER = "idempotency-key";
const DIALECT_HEADER = "roombox-dialect";

/** Pause before one is told to end again that the agent does not know. */
const CANCEL_PAUSE_MS = 10;

/** One call of exec. */
interface Exec extends Delivery {
  /** The agent's call. */
  path: string;
  headers: Headers;
  body: Bytes;
  /** What is known of the record before it runs. */
  seed: Bytes;
  key: { text: string; digest: string } | undefined;
}

/** A call with a key that is being answered. */
interface Flight {
  digest: string;
  /** Why nothing ran, or nothing to tell: then look again. */
  landed: Promise<OutcomeName | undefined>;
}

/** The executions of a room: has the agent run them, keeps their records, and answers for those that have ended. */
export class Executions {
  readonly #container: SandboxContainer;
  readonly #most: number;
  readonly #records: Records;
  readonly #keys: Keys;
  readonly #feed: Feed;
  /** Those that the agent was sent and has not answered for. */
  readonly #unanswered = new Set<string>();
  readonly #flights = new Map<string, Flight>();

  /**
   * @param most that may run at once
   * @param onEnd told of each at its end, by the fields of its record
   */
  constructor(sql: SqlStorage, container: SandboxContainer, most: number, onEnd: OnEnd) {
    this.#container = container;
    this.#most = most;
    this.#records = new Records(sql, onEnd);
    this.#keys = new Keys(sql);
    this.#feed = new Feed(container, this.#records, () =>
      this.#records.running().filter((id) => !this.#unanswered.has(id)),
    );
  }

  get anyRunning(): boolean {
    return this.#records.anyRunning;
  }

  get newest(): number | undefined {
    return this.#records.newest;
  }

  isRunning(id: string): boolean {
    return this.#records.status(id) === "running";
  }

  /** When the last one ended that this instance of the object knows of, in Unix milliseconds. */
  get lastEnd(): number {
    return this.#records.lastEnd;
  }

  /** Kills all that run, those too that are begun meanwhile. Settles when their records are written, or after so many milliseconds. */
  async cancelAll(patience: number): Promise<void> {
    const deadline = Date.now() + patience;
    while (this.anyRunning && Date.now() < deadline) {
      const cancelled = Promise.all(this.#records.running().map((id) => this.#cancel(id)));
      await within(deadline - Date.now(), cancelled);
    }
  }

  /** Goes on with what an earlier instance of the object left running. */
  resume(): void {
    if (!this.#container.running) this.containerEnded();
    else if (this.#records.anyRunning) this.#feed.open();
  }

  /** What ran in it has failed, and its agent has no more to tell. */
  containerEnded(): void {
    this.#feed.close();
    this.#records.fail(this.#records.running(), "lost");
  }

  /** Before the storage is emptied: writes nothing from here on. */
  close(): void {
    this.#feed.close();
  }

  /** The room is deleted, which ended all that ran. To be told before the storage is emptied. */
  endAll(): void {
    this.#records.endAll("gone");
  }

  /** After the storage was emptied: who waited for an end finds that all is gone. */
  forget(): void {
    this.#records.forget();
  }

  /** Runs what a request asks for, once for each key that it may have. */
  async run(request: Request, life: number): Promise<Response> {
    const exec = await readExec(request, life);
    const { key } = exec;
    if (!key) return this.#send(exec);
    for (;;) {
      if (life !== this.#container.life) return outcomeReply("gone");
      const flight = this.#flights.get(key.text);
      const use = flight ?? this.#keys.find(key.text);
      if (!use) return this.#sendFirst(exec, key.text, key.digest);
      if (use.digest !== key.digest) return outcomeReply("key_reused");
      const reply = flight ? await this.#joinFlight(flight) : await this.#replay(key.text);
      if (reply) return reply;
    }
  }

  /** A call about an execution that exists: to its end by the agent, from then on by its record. Starts no container. */
  async call(request: Request, id: string): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    if (this.isRunning(id) && this.#container.running) {
      const { method, headers, signal } = request;
      const body = request.body && (await bytesOf(request));
      const reply = await this.#container.call(pathname + search, { method, headers, body, signal });
      if (reply.status !== 404) return reply;
      await reply.body?.cancel(); // it has ended and is stored meanwhile
    }
    const fields = this.#records.get(id);
    if (!fields || this.isRunning(id)) return outcomeReply("no_execution");
    if (pathname.endsWith("/events")) return outcomeReply("events", fields);
    if (pathname.endsWith("/attach")) return outcomeReply("attach", fields);
    if (pathname.endsWith("/terminal")) return outcomeReply("terminal", fields);
    return outcomeReply(isLost(fields) ? "earlier_life" : "ended");
  }

  /** The record of one: of one that runs, with what it has printed so far. */
  async record(id: string): Promise<Outcome> {
    const fields = (await this.#runningRecord(id)) ?? this.#records.get(id);
    return fields ? { name: "record", fields } : { name: "no_execution" };
  }

  list(limit: number, cursor: string | undefined, status: string | undefined): Outcome {
    const page = this.#records.page(limit, cursor, status);
    const fields = page.heads.map((head): Field => ["record", head]);
    if (page.cursor !== undefined) fields.push(["cursor", page.cursor]);
    return { name: "records", fields: writeFields(...fields) };
  }

  /** All that are kept, with what the agent says of those that run. */
  async sessions(): Promise<Outcome> {
    const running = await this.#runningHeads();
    const fields = this.#records.page(MAX_RECORDS).heads.map((head): Field => {
      const id = fieldOf(head, "id") ?? "";
      return ["record", running.get(id) ?? head];
    });
    return { name: "sessions", fields: writeFields(...fields) };
  }

  /** Has the agent run it, in a container that is started if none runs. */
  #send(exec: Exec): Promise<Response> {
    return this.#container.deliver(exec, async () => {
      if (this.#records.countRunning >= this.#most) return outcomeReply("too_many_executions");
      const id = this.#begin(exec);
      try {
        return await this.#answer(id, exec, await this.#post(id, exec));
      } catch (error) {
        if (isNotListening(error)) this.#drop(id);
        else await this.#settle(id);
        throw error;
      }
    });
  }

  /** Writes the record of a new execution, and the key that stands for it, before the agent is asked. */
  #begin({ seed, key }: Exec): string {
    const id = `exec_${crypto.getRandomValues(new Uint8Array(10)).toHex()}`;
    this.#records.insert(id, seed);
    if (key) this.#keys.insert(key.text, { digest: key.digest, execution: id });
    this.#feed.open();
    return id;
  }

  async #post(id: string, { path, headers, body, signal }: Exec): Promise<Response> {
    const sent = new Headers(headers);
    sent.set(EXECUTION_HEADER, id);
    this.#unanswered.add(id);
    try {
      return await this.#container.call(path, { method: "POST", headers: sent, body, signal });
    } finally {
      this.#unanswered.delete(id);
    }
  }

  /** Passes the agent's reply on: of an execution that has ended, once its record is written. */
  async #answer(id: string, { life }: Exec, reply: Response): Promise<Response> {
    if (!reply.headers.has(EXECUTION_HEADER)) {
      this.#drop(id);
      return reply;
    }
    const detached = reply.status === 201 || reply.status === 202;
    if (detached || reply.headers.get("content-type")?.startsWith("text/event-stream")) return reply;
    await this.#records.ended(id);
    const gone = life !== this.#container.life;
    if (!gone && !isLost(this.#records.get(id))) return reply;
    await reply.body?.cancel();
    return outcomeReply(gone ? "gone" : "lost");
  }

  /**
   * A call came to nothing, by a fault or because the client left, maybe before the agent had it: then nothing ran. What did
   * run goes on to an end that the feed tells. An agent that does not say ends as well, and the wait for that is short.
   */
  async #settle(id: string): Promise<void> {
    const known = await this.#feed.knows(id);
    if (known === false && this.isRunning(id)) this.#drop(id);
    if (known === undefined) await this.#records.ended(id);
  }

  async #cancel(id: string): Promise<void> {
    try {
      const reply = await this.#container.fetch(`/executions/${id}/kill`, { method: "POST" });
      await reply.body?.cancel();
      if (reply.ok) return await this.#records.ended(id);
    } catch {
      // then it ends with its container
    }
    await scheduler.wait(CANCEL_PAUSE_MS); // the agent has not been told of it yet, or has told of its end
  }

  #drop(id: string): void {
    this.#keys.release(id);
    this.#records.drop(id);
  }

  /** The first call with a key. Its flight is there before anything is awaited, so that there is no other first. */
  async #sendFirst(exec: Exec, key: string, digest: string): Promise<Response> {
    const { promise, resolve } = Promise.withResolvers<OutcomeName | undefined>();
    this.#flights.set(key, { digest, landed: promise });
    let failure: OutcomeName | undefined;
    try {
      const reply = await this.#send(exec);
      failure = this.#keys.find(key) ? undefined : outcomeName(reply);
      return reply;
    } finally {
      this.#flights.delete(key);
      resolve(failure);
    }
  }

  async #joinFlight({ landed }: Flight): Promise<Response | undefined> {
    const failure = await landed;
    return failure && outcomeReply(failure);
  }

  /** What the first call with a key got, once there is something to tell. Undefined if nothing ran after all. */
  async #replay(key: string): Promise<Response | undefined> {
    const use = this.#keys.find(key);
    if (!use) return undefined;
    const detached = modeOf(this.#records.get(use.execution)) === "detach";
    if (!detached) await this.#records.ended(use.execution);
    const fields = this.#records.get(use.execution);
    if (fields) return outcomeReply("result", fields);
    // Not run after all, or so long ago that its record is gone; its key keeps it from being run twice even then.
    return this.#keys.find(key) && outcomeReply("key_spent");
  }

  async #runningHeads(): Promise<Map<string, Uint8Array>> {
    const heads = new Map<string, Uint8Array>();
    if (!this.#records.anyRunning || !this.#container.running) return heads;
    try {
      const reply = await this.#container.fetch("/executions", { signal: AbortSignal.timeout(LOOK_MS) });
      if (reply.ok && reply.body) for await (const { id, head } of readFrames(reply.body)) heads.set(id, head);
    } catch {
      // what is stored must do
    }
    return heads;
  }

  async #runningRecord(id: string): Promise<Bytes | undefined> {
    if (!this.isRunning(id) || !this.#container.running) return undefined;
    try {
      const reply = await this.#container.fetch(`/executions/${id}`, { signal: AbortSignal.timeout(LOOK_MS) });
      if (!reply.ok || !reply.body) return undefined; // it has ended and is stored meanwhile
      const { value: frame } = await readFrames(reply.body).next();
      return frame && concat(frame.head, frame.output);
    } catch {
      return undefined;
    }
  }
}

async function readExec(request: Request, life: number): Promise<Exec> {
  const headers = new Headers(request.headers);
  const bytes = await bytesOf(request);
  const seedSize = Number(headers.get(SEED_HEADER));
  const body = bytes.subarray(seedSize);
  const text = headers.get(KEY_HEADER);
  const key = text === null ? undefined : { text, digest: await digestOf(headers.get(DIALECT_HEADER) ?? "", body) };
  const caller = headers.get(CALLER_HEADER) ?? undefined;
  for (const name of [SEED_HEADER, KEY_HEADER, CALLER_HEADER]) headers.delete(name); // they are for the object
  const path = new URL(request.url).pathname;
  const told = writeFields(["trace", traceIdOf(headers) ?? ""], ["caller", caller ?? ""]);
  const seed = concat(bytes.subarray(0, seedSize), told);
  return { path, headers, body, seed, key, signal: request.signal, life, caller };
}

function modeOf(fields: Bytes | undefined): string | undefined {
  return fields && fieldOf(fields, "mode");
}

/** Whether it failed because its container ended. */
function isLost(fields: Bytes | undefined): boolean {
  return fields !== undefined && fieldOf(fields, "outcome") === "lost";
}
