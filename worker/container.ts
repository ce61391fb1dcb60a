import { readFields } from "./fields";
import { roomOf } from "./names";
import { type Failure, outcomeReply } from "./outcome";
import { type AllowedHost, hostsOf } from "./settings";
import { passOn, TRACE_HEADER, traceOf } from "./trace";
import { within } from "./within";

const decoder = new TextDecoder();

const AGENT_PORT = 8080;
/** On calls of the agent that not everybody in the sandbox may make: `kTokenHeader` of wasm/protocol/agent_api.h. */
const TOKEN_HEADER = "roombox-token";
/** On the agent's word that it is well: whose it is, `kBootHeader`. */
const BOOT_HEADER = "roombox-boot";
/** A request that found nobody listening was not sent, so it may be sent again; to a sandbox that dies at each start, not for ever. */
const MAX_SENDS = 3;
/** Pauses between knocks at a container whose agent does not listen yet: the platform has no event for that. */
const FIRST_KNOCK_MS = 2;
const LAST_KNOCK_MS = 250;
/** How long the platform may take to tell why a container has ended. */
const REASON_MS = 1000;
/** How long an agent may take to tell what goes on: then who asks makes do without. */
export const LOOK_MS = 5000;
/** How long a snapshot may take: it is as large as what the room has written. */
const SNAPSHOT_MS = 120_000;
/**
 * The platform ends the container of an object that it has put away, files and all; not before so long after the last
 * `keep`. It must be called more often than that.
 */
const KEEP_MS = 15 * 60_000;

/** Where the platform writes the certificate that it answers HTTPS requests of a container with, if those are let out. */
const CA_FILE = "/etc/cloudflare/certs/cloudflare-containers-ca.crt";
/** What has OpenSSL, Node, Python's requests, curl and git trust it. Nothing else answers them, so they need trust no other. */
const CA_VARIABLES = ["SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"];

/** What its owner hears of a container. */
export interface ContainerEvents {
  /** Before a start, by a caller or the object itself, and before a container is launched in it; why there shall be none. */
  starting(caller: string | undefined): Promise<Failure | undefined>;
  /** A start came to nothing, and no other one is under way. Its container may run on: the next start knocks at it again. */
  failed(): Promise<void>;
  /** Its agent takes commands. */
  started(): void;
  /** None runs any more, whatever ended it; not told of one that was destroyed. */
  ended(): void;
}

export interface ContainerSettings {
  /** How long an agent may take to answer, in milliseconds. */
  patience: number;
  /** A name of the platform's instance types. */
  instance: string;
  /** What commands may reach, as wrangler.toml has it. */
  hosts: string;
}

/** A call that is for a container that takes commands. */
export interface Delivery {
  /** Of the sandbox, when the call came. */
  life: number;
  signal: AbortSignal;
  /** Whose it is: Caller.name; undefined where nobody said. */
  caller: string | undefined;
}

/** One life of a container: from its start to its end. */
interface Boot {
  /** What its agent says that it is. */
  id: string;
  /** What its agent answers to: the sandbox's own processes reach its port too. */
  token: string;
}

/** Files that were saved: the platform's handle of them, their size in bytes and when that was, in Unix milliseconds. */
export interface Snapshot {
  id: string;
  size: number;
  at: number;
}

/** Why files were not saved, as `sleep_error` tells it: a name of wasm/outcome.cpp. */
export type SaveFault = "unsupported" | "timeout" | "failed";

/** The container of one sandbox, the agent in it, and the files that outlive it. */
export class SandboxContainer {
  readonly #ctx: DurableObjectState;
  readonly #settings: ContainerSettings;
  readonly #events: ContainerEvents;
  /** Counts deletions: a call that began before one must not start a container after it. */
  #life = 0;
  /** That of the container which was started last. What comes late, of an earlier one, is told by it. */
  #boot: Boot | undefined;
  /** Settles once the container's agent takes commands, or with why it will not. One start serves all who wait. */
  #readiness: Promise<Failure | undefined> | undefined;
  #starting = false;
  /** While it is there, nothing new is begun in the container: it is about to be ended. */
  #held: Promise<void> | undefined;
  /** Calls that the agent was sent and has not begun to answer, each by what cuts it. */
  readonly #unanswered = new Set<AbortController>();
  /** Settles with the platform's reason once the container has ended. */
  #exit: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, settings: ContainerSettings, events: ContainerEvents) {
    this.#ctx = ctx;
    this.#settings = settings;
    this.#events = events;
    this.#boot = ctx.storage.kv.get<Boot>("boot");
    if (this.running) this.#takeOver();
  }

  get patience(): number {
    return this.#settings.patience;
  }

  get life(): number {
    return this.#life;
  }

  get running(): boolean {
    return this.#ctx.container?.running ?? false;
  }

  get starting(): boolean {
    return this.#starting;
  }

  /** Whether it is about to be ended: nothing is begun in it any more. */
  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** The files that the next container starts with; undefined: those of the image. */
  get snapshot(): Snapshot | undefined {
    return this.#ctx.storage.kv.get<Snapshot>("snapshot");
  }

  /** Variables of the environment that containers started from now on give to all commands: `env` fields, NAME=value. */
  keepVariables(fields: Uint8Array): void {
    if (fields.byteLength > 0) this.#ctx.storage.kv.put("variables", fields);
  }

  forgetVariables(): void {
    this.#ctx.storage.kv.delete("variables");
  }

  /** Of a container that has ended, where there is to be no other. */
  forgetBoot(): void {
    if (this.#boot) this.#ctx.storage.kv.delete("boot");
    this.#boot = undefined;
  }

  /**
   * Settles once commands are taken, by a container that is started if none runs. It may be about to end then: see `deliver`.
   *
   * @param caller for whom; undefined: the object itself
   */
  ready(caller?: string): Promise<Failure | undefined> {
    if (this.#held) return this.#held.then(() => this.ready(caller));
    if (!this.#readiness) {
      this.#starting = true;
      const life = this.#life;
      const readiness = this.#start(caller)
        .catch((error: unknown): Failure => {
          console.error(`${this.#ctx.id.name}: did not start`, error);
          return "start_failed";
        })
        .then(async (failure) => {
          const isLast = !this.#readiness || this.#readiness === readiness;
          if (failure && isLast && life === this.#life) await this.#events.failed();
          return failure;
        });
      this.#readiness = readiness;
      readiness.then((failure) => {
        if (this.#readiness !== readiness) return;
        this.#starting = false;
        if (failure) this.#readiness = undefined; // the next call may try again
      });
    }
    return this.#readiness;
  }

  /** Settles once a start that is under way has come to its end. */
  async settled(): Promise<void> {
    if (this.#starting) await this.#readiness;
  }

  /**
   * Sends a call to a container that takes commands and is not about to end; it is started if none runs. What came of a call of an
   * earlier life, or could not be sent at all, is an outcome.
   *
   * @param send begins the call at once, or else looks again whether it may and then returns undefined; it is called anew where
   *             it throws that nobody listens
   */
  async deliver({ life, signal, caller }: Delivery, send: () => Promise<Response | undefined>): Promise<Response> {
    for (let sends = 1; ; ) {
      if (life !== this.#life) return outcomeReply("gone");
      const failure = await this.ready(caller);
      if (life !== this.#life) return outcomeReply("gone");
      if (failure) return outcomeReply(failure);
      signal.throwIfAborted(); // the client has left
      if (this.isHeld) continue;
      try {
        const reply = await send();
        if (reply) return reply;
      } catch (error) {
        if (!isNotListening(error)) throw error;
        if (sends++ === MAX_SENDS) return outcomeReply("start_failed");
        this.#forgetReadiness(); // the next call is to start anew
      }
    }
  }

  /** Calls the agent in the container that runs, as the next hop of the call's trace. Starts none: throws if none listens (`isNotListening`). */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (this.#boot) headers.set(TOKEN_HEADER, this.#boot.token);
    if (headers.has(TRACE_HEADER)) passOn(headers, traceOf(headers));
    return this.#port.fetch(`http://sandbox${path}`, { ...init, headers });
  }

  /** The same for a caller, whose call the container's end awaits or cuts: then it throws with `isCut`. */
  async call(path: string, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
    const cut = new AbortController();
    this.#unanswered.add(cut);
    try {
      return await this.fetch(path, { ...init, signal: AbortSignal.any([init.signal, cut.signal]) });
    } finally {
      this.#unanswered.delete(cut);
    }
  }

  /** Cuts the calls that have no answer yet. */
  cut(): void {
    for (const call of this.#unanswered) call.abort(new Error(CUT));
  }

  /** Throws if nobody listens (`isNotListening`), or another than the agent that was started. */
  async knock(signal?: AbortSignal): Promise<void> {
    const reply = await this.#port.fetch("http://sandbox/health", signal ? { signal } : {});
    await reply.text();
    const boot = reply.headers.get(BOOT_HEADER);
    if (!reply.ok || boot !== this.#boot?.id) throw new Error(`${reply.status} for a knock, from boot ${boot}`);
  }

  /** How much goes on in the container, by its agent's count: executions, calls, connections. Undefined: it does not say. */
  async activity(): Promise<number | undefined> {
    if (this.#unanswered.size > 0) return this.#unanswered.size; // the agent may not have them yet
    try {
      const reply = await this.fetch("/activity", { signal: AbortSignal.timeout(LOOK_MS) });
      const count = Number(await reply.text());
      return reply.ok && Number.isInteger(count) ? count : undefined;
    } catch {
      return undefined;
    }
  }

  /** Keeps the platform from ending the container for a while in which nobody calls. */
  keep(): void {
    if (!this.running) return;
    const log = (error: unknown) => console.error(`${this.#ctx.id.name}: cannot be kept`, error);
    this.#container.setInactivityTimeout(KEEP_MS).catch(log);
  }

  /**
   * Saves the container's files for the next one, in place of those that were saved before; it runs on. Returns why that
   * could not be done. The platform lets go of the earlier ones by itself.
   */
  async save(): Promise<SaveFault | undefined> {
    const boot = this.#boot;
    if (typeof this.#container.snapshotContainer !== "function") return "unsupported";
    try {
      const taken = await within(SNAPSHOT_MS, this.#container.snapshotContainer({ name: `${this.#ctx.id.name}` }));
      if (!taken) return "timeout";
      if (boot !== this.#boot) return "failed"; // what was saved has been deleted or replaced meanwhile
      const snapshot: Snapshot = { id: taken.id, size: Number(taken.size), at: Date.now() };
      this.#ctx.storage.kv.put("snapshot", snapshot);
      await this.#ctx.storage.sync(); // nothing is ended that is not safe
      return undefined;
    } catch (error) {
      console.error(`${this.#ctx.id.name}: no snapshot`, error);
      return "failed";
    }
  }

  /**
   * Does what is to end with the container's end, one such at a time and not while it starts. Who wants it ready waits, and
   * gets a new one.
   */
  async hold<T>(work: () => Promise<T>): Promise<T> {
    while (this.#held) await this.#held;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    try {
      await this.settled();
      return await work();
    } finally {
      this.#held = undefined;
      resolve();
    }
  }

  /** Ends a container that is saved, or whose agent is of no use. */
  async end(): Promise<void> {
    const boot = this.#boot;
    this.#forgetReadiness();
    await this.#container.destroy();
    if (boot === this.#boot) this.#noteEnd();
  }

  /** Ends the sandbox's life: who began to wait in it is told that it is gone. */
  async destroy(): Promise<void> {
    this.#life++;
    this.#boot = undefined;
    this.#forgetReadiness();
    await this.#container.destroy();
  }

  /** Starts the container, unless it runs, and waits until its agent answers. */
  async #start(caller: string | undefined): Promise<Failure | undefined> {
    const hosts = this.#hosts();
    if (!hosts) return "hosts_invalid";
    const deadline = Date.now() + this.patience;
    const life = this.#life;
    let admitted = false;
    let launched = false;
    for (let pause = FIRST_KNOCK_MS; ; pause = Math.min(pause * 2, LAST_KNOCK_MS)) {
      if (life !== this.#life) return "gone";
      const launches = !this.running && !launched;
      if (launches || !admitted) {
        const refusal = await this.#events.starting(caller);
        if (refusal) return refusal;
        admitted = true;
      }
      if (launches) {
        await this.#letOut(hosts);
        if (life !== this.#life) return "gone";
        this.#launch(hosts);
        launched = true;
      }
      try {
        const signal = AbortSignal.timeout(Math.max(deadline - Date.now(), 1));
        await this.knock(signal);
        if (life !== this.#life) return "gone";
        this.#events.started();
        return undefined;
      } catch (error) {
        if (!this.running && launched) return this.#failureOf(error);
        if (Date.now() >= deadline) {
          const hint = `nothing healthy answers on port ${AGENT_PORT} yet: is the agent the image's entrypoint, is the port exposed?`;
          console.error(`${this.#ctx.id.name}: ${hint}`, error);
          return "start_timeout";
        }
      }
      await scheduler.wait(pause);
    }
  }

  /** What commands may reach; undefined where that cannot be read. */
  #hosts(): AllowedHost[] | undefined {
    try {
      return hostsOf("ALLOWED_HOSTS", this.#settings.hosts);
    } catch (error) {
      console.error(`${this.#ctx.id.name}: did not start`, error);
      return undefined;
    }
  }

  /** Has the platform hand to `Egress` what the container's commands ask of hosts; what they ask of others stays undone. */
  async #letOut(hosts: AllowedHost[]): Promise<void> {
    if (hosts.length === 0) return;
    const props = { room: roomOf(`${this.#ctx.id.name}`) };
    const egress = this.#ctx.exports.Egress({ props });
    const calls = hosts.flatMap(({ host, port }) => {
      const place = port ? `${host}:${port}` : host;
      return [
        this.#container.interceptOutboundHttp(place, egress),
        this.#container.interceptOutboundHttps(place, egress),
      ];
    });
    await Promise.all(calls);
  }

  /** Of an earlier instance of the object, which the container has outlived. */
  #takeOver(): void {
    this.#watch();
    const log = (error: unknown) => console.error(`${this.#ctx.id.name}: reaches no hosts`, error);
    this.#letOut(this.#hosts() ?? []).catch(log);
  }

  #launch(hosts: AllowedHost[]): void {
    const boot: Boot = { id: crypto.randomUUID(), token: crypto.randomUUID() };
    const { snapshot } = this;
    const trust = Object.fromEntries(CA_VARIABLES.map((name) => [name, CA_FILE]));
    this.#ctx.storage.kv.put("boot", boot);
    this.#boot = boot;
    const image = this.#container.images.sandbox;
    if (!image) throw new Error("wrangler.toml names no image `sandbox` for this object's container");
    this.#container.start({
      enableInternet: false,
      instance: this.#settings.instance as "lite",
      env: {
        ...(hosts.length > 0 ? trust : {}),
        ...this.#variables(),
        ROOMBOX_BOOT_ID: boot.id,
        ROOMBOX_AGENT_TOKEN: boot.token,
      },
      ...(snapshot ? { containerSnapshot: { id: snapshot.id } } : { image }),
    });
    this.#watch();
    this.keep();
  }

  /** Why a container that was launched does not run; the platform tells its monitor, and who knocks perhaps. */
  async #failureOf(knock: unknown): Promise<Failure> {
    const reason = (await within(REASON_MS, this.#exit)) ?? knock;
    console.error(`${this.#ctx.id.name}: did not start`, reason);
    if (isAtCapacity(reason) || isAtCapacity(knock)) return "at_capacity";
    return this.snapshot ? "restore_failed" : "start_failed";
  }

  #variables(): Record<string, string> {
    const fields = this.#ctx.storage.kv.get<Uint8Array>("variables") ?? new Uint8Array();
    return Object.fromEntries([...readFields(fields)].map(([, value]) => splitVariable(decoder.decode(value))));
  }

  #watch(): void {
    const boot = this.#boot;
    const ended = (reason?: unknown) => {
      if (boot === this.#boot) this.#noteEnd();
      return reason;
    };
    this.#exit = this.#container.monitor().then(() => ended(), ended);
  }

  #noteEnd(): void {
    if (this.running) return; // a new one has been started
    this.#forgetReadiness();
    this.#events.ended();
  }

  #forgetReadiness(): void {
    this.#readiness = undefined;
    this.#starting = false;
  }

  get #container(): Container {
    const { container } = this.#ctx;
    if (!container) throw new Error("wrangler.toml names no container for this object");
    return container;
  }

  get #port(): Fetcher {
    return this.#container.getTcpPort(AGENT_PORT);
  }
}

function splitVariable(variable: string): [string, string] {
  const end = variable.indexOf("=");
  return [variable.slice(0, end), variable.slice(end + 1)];
}

const CUT = "the call was cut for the container's end";

export function isCut(error: unknown): boolean {
  return error instanceof Error && error.message === CUT;
}

/** The platform's words for a refused connection; nothing of the request was sent. */
export function isNotListening(error: unknown): boolean {
  return error instanceof Error && /not listening/i.test(error.message);
}

function isAtCapacity(error: unknown): boolean {
  return error instanceof Error && /no container instance|max(imum)?.*instances/i.test(error.message);
}
