import { readFields } from "./fields";
import type { Failure } from "./outcome";

const decoder = new TextDecoder();

const AGENT_PORT = 8080;
/** A request that found nobody listening was not sent, so it may be sent again; to a sandbox that dies at each start, not for ever. */
export const MAX_SENDS = 3;
/** Pauses between knocks at a container whose agent does not listen yet: the platform has no event for that. */
const FIRST_KNOCK_MS = 2;
const LAST_KNOCK_MS = 250;

/** What its owner hears of a container. */
export interface ContainerEvents {
  /** Before each start of one. */
  starting(): void | Promise<void>;
  /** None runs any more, whatever ended it; not told of one that was destroyed. */
  ended(): void;
}

/** The container of one sandbox and the agent in it: started when it is needed, watched until it ends. */
export class SandboxContainer {
  readonly #ctx: DurableObjectState;
  /** How long an agent may take to answer, in milliseconds. */
  readonly patience: number;
  readonly #events: ContainerEvents;
  /** Counts deletions: a call that began before one must not start a container after it. */
  #life = 0;
  /** Settles once the container's agent takes commands, or with why it will not. One start serves all who wait. */
  #readiness: Promise<Failure | undefined> | undefined;
  #starting = false;

  constructor(ctx: DurableObjectState, patience: number, events: ContainerEvents) {
    this.#ctx = ctx;
    this.patience = patience;
    this.#events = events;
    if (this.running) this.#watch(); // it outlived an earlier instance of the object
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

  /** Variables of the environment that containers started from now on give to all commands: `env` fields, NAME=value. */
  keepVariables(fields: Uint8Array): void {
    if (fields.byteLength > 0) this.#ctx.storage.kv.put("variables", fields);
  }

  /** Settles once commands are taken, by a container that is started if none runs. */
  ready(): Promise<Failure | undefined> {
    if (!this.#readiness) {
      this.#starting = true;
      const readiness = this.#start().catch((error: unknown): Failure => {
        console.error(`${this.#ctx.id.name}: did not start`, error);
        return "start_failed";
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

  /** Calls the agent in the container that runs. Starts none: throws if none listens (`isNotListening`). */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    headers.set("authorization", `Bearer ${this.#ctx.storage.kv.get<string>("agentToken")}`);
    return this.#port.fetch(`http://sandbox${path}`, { ...init, headers });
  }

  /** Throws if nobody listens (`isNotListening`). */
  async knock(signal?: AbortSignal): Promise<void> {
    await (await this.#port.fetch("http://sandbox/health", signal ? { signal } : {})).text();
  }

  /** Has the next call start anew: nobody listens. */
  distrust(): void {
    this.#forgetReadiness();
  }

  /** Ends a container whose agent is of no use. */
  async end(): Promise<void> {
    this.#forgetReadiness();
    await this.#container.destroy();
    this.#noteEnd();
  }

  /** Ends the sandbox's life: who began to wait in it is told that it is gone. */
  async destroy(): Promise<void> {
    this.#life++;
    this.#forgetReadiness();
    await this.#container.destroy();
  }

  /** Starts the container, unless it runs, and waits until its agent answers. */
  async #start(): Promise<Failure | undefined> {
    const deadline = Date.now() + this.patience;
    const life = this.#life;
    let launched = false;
    for (let pause = FIRST_KNOCK_MS; ; pause = Math.min(pause * 2, LAST_KNOCK_MS)) {
      if (life !== this.#life) return "gone";
      if (!this.running && !launched) {
        await this.#events.starting();
        if (life !== this.#life) return "gone";
        this.#launch();
        launched = true;
      }
      try {
        const signal = AbortSignal.timeout(Math.max(deadline - Date.now(), 1));
        await this.knock(signal);
        return undefined;
      } catch (error) {
        if (!this.running && launched) {
          console.error(`${this.#ctx.id.name}: did not start`, error);
          return isAtCapacity(error) ? "at_capacity" : "start_failed";
        }
        if (Date.now() >= deadline) return "start_timeout";
      }
      await scheduler.wait(pause);
    }
  }

  #launch(): void {
    // The sandbox's own processes reach the agent's port too; only who knows the token is answered.
    const token = crypto.randomUUID();
    this.#ctx.storage.kv.put("agentToken", token);
    this.#container.start({ enableInternet: false, env: { ...this.#variables(), ROOMBOX_AGENT_TOKEN: token } });
    this.#watch();
  }

  #variables(): Record<string, string> {
    const fields = this.#ctx.storage.kv.get<Uint8Array>("variables") ?? new Uint8Array();
    return Object.fromEntries([...readFields(fields)].map(([, value]) => splitVariable(decoder.decode(value))));
  }

  #watch(): void {
    const life = this.#life;
    const ended = () => {
      if (life === this.#life) this.#noteEnd();
    };
    this.#container.monitor().then(ended, ended);
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

/** The platform's words for a refused connection; nothing of the request was sent. */
export function isNotListening(error: unknown): boolean {
  return error instanceof Error && /not listening/i.test(error.message);
}

function isAtCapacity(error: unknown): boolean {
  return error instanceof Error && /no container instance|max(imum)?.*instances/i.test(error.message);
}
