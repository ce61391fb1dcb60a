import { DurableObject } from "cloudflare:workers";
import { Activity } from "./activity";
import { tellExecution } from "./audit";
import { bytesOf } from "./bytes";
import { LOOK_MS, SandboxContainer } from "./container";
import { EXECUTION_HEADER, Executions } from "./executions";
import { type Field, writeFields } from "./fields";
import { ATTEMPT_HEADER, type Attempt, refresh } from "./fresh";
import { roomOf } from "./names";
import { type Failure, type Outcome, type OutcomeName, outcomeName, outcomeReply } from "./outcome";
import { Ownership } from "./ownership";
import { Presence } from "./presence";
import { isRelayed, relay } from "./relay";
import { countOf, durationOf } from "./settings";
import { Sleep } from "./sleep";
import { type Grant, Tickets } from "./tickets";
import { TRACE_HEADER, traceIdOf } from "./trace";

/** While commands run, the object is woken so often: the platform puts one to sleep that nobody calls, and with it the feed. */
const FEED_ALARM_MS = 30_000;
/** While a container runs, likewise: it must be kept from the platform, which ends those of objects that it has put away. */
const KEEP_ALARM_MS = 5 * 60_000;
/** What is left of a start that came to nothing, or whose object ended, is cleared away after so long: place and container. */
const UNBORN_MS = 60_000;
/** And no more often than that, however soon a room is to sleep. */
const ALARM_PAUSE_MS = 1000;

/** One room's sandbox: its container and its executions, from the first call to `destroy`. */
export class Sandbox extends DurableObject<Env> {
  readonly #activity: Activity;
  readonly #container: SandboxContainer;
  readonly #executions: Executions;
  readonly #ownership: Ownership;
  readonly #presence: Presence;
  readonly #sleep: Sleep;
  readonly #tickets: Tickets;
  #deletion: Promise<Outcome> | undefined;
  /** When the alarm comes that this instance has set, in Unix milliseconds. */
  #alarmAt: number | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#activity = new Activity(ctx, env);
    const settings = {
      patience: durationOf("START_TIMEOUT", env.START_TIMEOUT),
      instance: env.INSTANCE_TYPE,
      hosts: env.ALLOWED_HOSTS,
    };
    this.#container = new SandboxContainer(ctx, settings, {
      starting: (caller) => this.#admit(caller),
      failed: () => this.#giveBack(),
      started: () => this.#activity.create(),
      ended: () => this.#executions.containerEnded(),
    });
    const mostRooms = countOf("MAX_ROOMS", env.MAX_ROOMS);
    this.#ownership = new Ownership(ctx.storage, env, mostRooms, () => this.#setAlarm());
    const most = countOf("MAX_EXECUTIONS", env.MAX_EXECUTIONS);
    this.#executions = new Executions(ctx.storage.sql, this.#container, most, (fields) =>
      tellExecution(env, roomOf(this.#activity.name), fields),
    );
    const sleepAfter = durationOf("SLEEP_AFTER", env.SLEEP_AFTER);
    this.#sleep = new Sleep(ctx.storage, this.#container, this.#executions, this.#activity, sleepAfter);
    this.#tickets = new Tickets(ctx.storage);
    this.#presence = new Presence(ctx);
    this.#executions.resume();
  }

  /**
   * Carries out a call of the worker that runs a command or is about an execution, a file or a port: by the agent, or by what is
   * stored. A WebSocket of who is present is the object's own.
   */
  override async fetch(request: Request): Promise<Response> {
    await this.#deletion;
    if (this.#presence.isFor(request)) return this.#presence.join(request);
    const { life } = this.#container;
    try {
      const reply = await this.#carryOut(request, life);
      this.#refreshAfter(outcomeName(reply), request.headers.get(ATTEMPT_HEADER));
      return reply;
    } catch (error) {
      const trace = traceIdOf(request.headers);
      if (!request.signal.aborted) console.error(`${this.ctx.id.name}: trace ${trace}: no reply`, error);
      return outcomeReply(life === this.#container.life ? "lost" : "gone");
    } finally {
      this.#setAlarm();
    }
  }

  override webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): void {
    this.#presence.hear(socket, message);
  }

  override webSocketClose(socket: WebSocket): void {
    this.#presence.leave(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#presence.leave(socket);
  }

  /** Starts the sandbox, with variables for all of its commands; the room is there afterwards. */
  async create(variables: Uint8Array, caller: string, sleepAfter?: number): Promise<Outcome> {
    await this.#deletion;
    this.#container.keepVariables(variables);
    const outcome = await this.#start("created", caller, sleepAfter);
    if (!this.#exists) this.#container.forgetVariables();
    return outcome;
  }

  /** Starts the sandbox of a room that sleeps. */
  async wake(sleepAfter?: number, attempt: Attempt = "last"): Promise<Outcome> {
    await this.#decision;
    const outcome = this.#exists ? await this.#start("room", undefined, sleepAfter) : this.status();
    this.#refreshAfter(outcome.name, attempt);
    return outcome;
  }

  /** Has the room sleep, whatever runs in it. */
  async sleep(): Promise<Outcome> {
    await this.#decision;
    const failure = this.#exists ? await this.#sleep.now() : undefined;
    this.#setAlarm();
    return failure ? { name: failure } : this.status();
  }

  /** Says how long the room is to be unused before it sleeps, in milliseconds; 0: never by itself. */
  async sleepAfter(ms: number): Promise<Outcome> {
    await this.#decision;
    if (!this.#exists) return this.status();
    this.#activity.note();
    this.#sleep.after = ms;
    this.#setAlarm();
    return { name: "timeout_set" };
  }

  /** A ticket for one WebSocket. */
  ticket(grant: Grant): Outcome {
    const made = this.#tickets.make(grant);
    if (!made) return { name: "too_many_tickets" };
    this.#setAlarm();
    const [secret, expires] = made;
    const credential = `ticket.${roomOf(this.#activity.name)}.${secret}`;
    return { name: "ticket", fields: writeFields(["credential", credential], ["expires_ms", expires]) };
  }

  /** What a ticket is good for, the first time that it is brought. */
  redeem(secret: string): Grant | undefined {
    return this.#tickets.redeem(secret);
  }

  /** Ends the sandbox and forgets all about it. Calls in flight are told that it is gone, later ones get a new one. */
  destroy(): Promise<Outcome> {
    this.#deletion ??= this.#delete().finally(() => {
      this.#deletion = undefined;
    });
    return this.#deletion;
  }

  /** The room as it is. Like the three below, neither wakes nor writes anything. */
  status(): Outcome {
    return { name: "room", fields: this.#room() };
  }

  record(id: string): Promise<Outcome> {
    return this.#executions.record(id);
  }

  records(limit: number, cursor: string | undefined, status: string | undefined): Outcome {
    return this.#executions.list(limit, cursor, status);
  }

  sessions(): Promise<Outcome> {
    return this.#executions.sessions();
  }

  /** What the agent of a room that is awake tells of itself, in its own words. */
  async metrics(traceparent: string): Promise<Outcome> {
    if (this.#status() !== "running" || this.#container.isHeld) return { name: "no_metrics" };
    try {
      const signal = AbortSignal.timeout(LOOK_MS);
      const reply = await this.#container.fetch("/metrics", { headers: { [TRACE_HEADER]: traceparent }, signal });
      if (reply.ok) return { name: "metrics", fields: await bytesOf(reply) };
      await reply.body?.cancel();
    } catch (error) {
      console.error(`${this.ctx.id.name}: no metrics`, error);
    }
    return { name: "metrics_failed" };
  }

  override async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    await this.#deletion;
    try {
      this.#tickets.prune();
      this.#container.keep();
      if (this.#exists) await this.#sleep.look();
      else if (!this.#container.starting) await this.#clearAway();
    } finally {
      this.#setAlarm();
    }
  }

  async #carryOut(request: Request, life: number): Promise<Response> {
    const id = request.headers.get(EXECUTION_HEADER);
    if (id !== null && !this.#executions.isRunning(id)) return this.#executions.call(request, id);
    return this.#activity.during(async () => {
      if (isRelayed(request)) return relay(this.#container, request, life);
      return id === null ? this.#executions.run(request, life) : this.#executions.call(request, id);
    });
  }

  /** A room that is to be made is announced, once its caller may have one more. It comes to be as its agent answers. */
  async #admit(caller: string | undefined): Promise<Failure | undefined> {
    if (!this.#container.running) this.#executions.containerEnded(); // an earlier one, whose end nobody saw
    if (this.#exists) return undefined;
    const { name } = this.#activity;
    if (caller !== undefined && !(await this.#ownership.claim(name, caller))) return "too_many_rooms";
    await this.#activity.announce();
    return undefined;
  }

  /** The place of a room that did not come to be; the alarm tries again. */
  async #giveBack(): Promise<void> {
    if (this.#exists) return;
    if (!this.#container.running) this.#container.forgetBoot();
    const log = (error: unknown) => console.error(`${this.ctx.id.name}: its place is not given back yet`, error);
    await this.#ownership.release().catch(log);
  }

  /** What a start has left that came to nothing: its container too, once nobody tries it any more. */
  async #clearAway(): Promise<void> {
    const isTried = this.#activity.open > 0 || Date.now() - this.#activity.idleSince < UNBORN_MS;
    if (this.#container.running && !isTried) {
      await this.#container.hold(async () => {
        if (!this.#exists) await this.#container.end();
      });
    }
    if (!this.#container.starting) await this.#giveBack();
  }

  async #start(started: "created" | "room", caller?: string, sleepAfter?: number): Promise<Outcome> {
    const { life } = this.#container;
    try {
      const failure = await this.#activity.during(() => this.#container.ready(caller));
      if (life !== this.#container.life) return { name: "gone" };
      if (failure) return { name: failure };
      if (sleepAfter !== undefined) this.#sleep.after = sleepAfter;
      return { name: started, fields: this.#room() };
    } finally {
      this.#setAlarm();
    }
  }

  #refreshAfter(outcome: OutcomeName | undefined, attempt: string | null): void {
    const isBroken = outcome === "start_failed" || outcome === "restore_failed";
    if (isBroken && attempt === "first" && !this.#container.running) refresh(this.ctx);
  }

  /** Sets the alarm to when something is to be done next, unless it comes before that anyway. Nobody waits for it. */
  #setAlarm(): void {
    const now = Date.now();
    const times = [this.#exists ? this.#sleep.due : undefined, this.#tickets.due];
    if (this.#container.running) times.push(now + KEEP_ALARM_MS);
    if (this.#executions.anyRunning) times.push(now + FEED_ALARM_MS);
    if (!this.#exists && (this.#container.running || this.#ownership.isHeld)) times.push(now + UNBORN_MS);
    const next = Math.max(Math.min(...times.filter((time) => time !== undefined)), now + ALARM_PAUSE_MS);
    if (next >= (this.#alarmAt ?? Number.POSITIVE_INFINITY)) return;
    this.#alarmAt = next;
    const log = (error: unknown) => console.error(`${this.ctx.id.name}: no alarm`, error);
    this.ctx.storage.setAlarm(this.#alarmAt).catch(log);
  }

  async #delete(): Promise<Outcome> {
    const existed = this.#container.running || this.#exists;
    this.#executions.close();
    await this.#container.destroy();
    await this.#ownership.release().catch((error: unknown) => {
      this.#executions.containerEnded(); // the room stays, to be deleted once more, without what ran in it
      throw error;
    });
    this.#executions.endAll();
    await this.ctx.storage.deleteAll();
    this.#alarmAt = undefined;
    this.#tickets.prune(); // there are none any more
    this.#executions.forget();
    this.#presence.end();
    if (existed) await this.#activity.forget();
    return { name: existed ? "deleted" : "absent" };
  }

  /** Settles once it is decided whether the room is there: by a deletion or a first start that is under way. */
  get #decision(): Promise<unknown> | undefined {
    return this.#deletion ?? (this.#exists ? undefined : this.#container.settled());
  }

  get #exists(): boolean {
    return this.#activity.created !== undefined;
  }

  #room() {
    const { created } = this.#activity;
    const { snapshot } = this.#container;
    const fields: Field[] = [
      ["sandbox", this.#activity.name],
      ["status", this.#status()],
    ];
    if (created === undefined) return writeFields(...fields);
    const active = Math.max(created, this.#activity.active, this.#executions.newest ?? 0);
    fields.push(["created_ms", created], ["active_ms", active], ["sleep_after_ms", this.#sleep.after]);
    if (snapshot) fields.push(["snapshot_ms", snapshot.at], ["snapshot_bytes", snapshot.size]);
    if (this.#sleep.fault) fields.push(["sleep_error", this.#sleep.fault]);
    return writeFields(...fields);
  }

  #status(): string {
    if (this.#container.starting) return "starting";
    if (!this.#exists) return "absent";
    return this.#container.running ? "running" : "asleep";
  }
}
