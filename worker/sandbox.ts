import { DurableObject } from "cloudflare:workers";

/** Names what became of a request that has no reply of the agent: an outcome of wasm/outcome.cpp. */
export const OUTCOME_HEADER = "roombox-outcome";

type Outcome = "start_failed" | "start_timeout" | "at_capacity" | "lost" | "gone";

const AGENT_PORT = 8080;
/** Pauses between knocks at a container whose agent does not listen yet: the platform has no event for that. */
const FIRST_KNOCK_MS = 2;
const LAST_KNOCK_MS = 250;
/** A request that found nobody listening was not sent, so it may be sent again; to a sandbox that dies at each start, not for ever. */
const MAX_SENDS = 3;

/** One room's sandbox: owns its container, from the first call to `destroy`. */
export class Sandbox extends DurableObject<Env> {
  /** Counts deletions: a call that began before one must not start a container after it. */
  #life = 0;
  #deletion: Promise<unknown> = Promise.resolve();
  /** Settles once the container's agent takes commands, or with why it will not. One start serves all who wait. */
  #readiness: Promise<Outcome | undefined> | undefined;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    if (ctx.container?.running) this.#watch(); // it outlived an earlier instance of this object
  }

  /** Passes a request of the worker to the agent, in a container that is started if none runs. */
  override async fetch(request: Request): Promise<Response> {
    await this.#deletion;
    const life = this.#life;
    try {
      return await this.#send(request, life);
    } catch (error) {
      console.error(`${this.ctx.id.name}: no reply`, error);
      return answer(life === this.#life ? "lost" : "gone");
    }
  }

  /** Ends the sandbox and forgets all about it. Calls in flight are told that it is gone, later ones get a new one. */
  async destroy(): Promise<"deleted" | "absent"> {
    const deletion = this.#deletion.then(() => this.#delete());
    this.#deletion = deletion.catch(() => undefined);
    return deletion;
  }

  async #send(request: Request, life: number): Promise<Response> {
    const { method, url } = request;
    const headers = new Headers(request.headers);
    const body = await request.arrayBuffer();
    for (let sends = 1; ; sends++) {
      if (life !== this.#life) return answer("gone");
      const failure = await this.#ready();
      if (life !== this.#life) return answer("gone");
      if (failure) return answer(failure);
      try {
        headers.set("authorization", `Bearer ${this.ctx.storage.kv.get<string>("agentToken")}`);
        return await this.#port.fetch(url, { method, headers, body });
      } catch (error) {
        if (!isNotListening(error)) throw error;
        if (sends === MAX_SENDS) return answer("start_failed");
        this.#readiness = undefined;
      }
    }
  }

  #ready(): Promise<Outcome | undefined> {
    if (!this.#readiness) {
      const readiness = this.#start().catch((error: unknown): Outcome => {
        console.error(`${this.ctx.id.name}: did not start`, error);
        return "start_failed";
      });
      this.#readiness = readiness;
      readiness.then((failure) => {
        if (failure && this.#readiness === readiness) this.#readiness = undefined; // the next call may try again
      });
    }
    return this.#readiness;
  }

  /** Starts the container, unless it runs, and waits until its agent answers. */
  async #start(): Promise<Outcome | undefined> {
    const deadline = Date.now() + Number(this.env.START_TIMEOUT_MS);
    const life = this.#life;
    let launched = false;
    for (let pause = FIRST_KNOCK_MS; ; pause = Math.min(pause * 2, LAST_KNOCK_MS)) {
      if (life !== this.#life) return "gone";
      if (!this.#container.running && !launched) {
        this.#launch();
        launched = true;
      }
      try {
        const signal = AbortSignal.timeout(Math.max(deadline - Date.now(), 1));
        await (await this.#port.fetch("http://sandbox/health", { signal })).text();
        return undefined;
      } catch (error) {
        if (!this.#container.running && launched) {
          console.error(`${this.ctx.id.name}: did not start`, error);
          return isAtCapacity(error) ? "at_capacity" : "start_failed";
        }
        if (Date.now() >= deadline) return "start_timeout";
      }
      await scheduler.wait(pause);
    }
  }

  #launch(): void {
    const { kv } = this.ctx.storage;
    if (kv.get("createdAt") === undefined) kv.put("createdAt", Date.now());
    // The sandbox's own processes reach the agent's port too; only who knows the token is answered.
    const token = crypto.randomUUID();
    kv.put("agentToken", token);
    this.#container.start({ enableInternet: false, env: { ROOMBOX_AGENT_TOKEN: token } });
    this.#watch();
  }

  /** Has the next call start anew once the container has ended, whoever brought that about. */
  #watch(): void {
    const ended = () => {
      if (!this.#container.running) this.#readiness = undefined;
    };
    this.#container.monitor().then(ended, ended);
  }

  async #delete(): Promise<"deleted" | "absent"> {
    const existed = this.#container.running || this.ctx.storage.kv.get("createdAt") !== undefined;
    this.#life++;
    this.#readiness = undefined;
    await this.#container.destroy();
    await this.ctx.storage.deleteAll();
    return existed ? "deleted" : "absent";
  }

  get #container(): Container {
    const { container } = this.ctx;
    if (!container) throw new Error("wrangler.toml names no container for this object");
    return container;
  }

  get #port(): Fetcher {
    return this.#container.getTcpPort(AGENT_PORT);
  }
}

function answer(outcome: Outcome): Response {
  return new Response(null, { headers: { [OUTCOME_HEADER]: outcome } });
}

/** The platform's words for a refused connection; nothing of the request was sent. */
function isNotListening(error: unknown): boolean {
  return error instanceof Error && /not listening/i.test(error.message);
}

function isAtCapacity(error: unknown): boolean {
  return error instanceof Error && /no container instance|max(imum)?.*instances/i.test(error.message);
}
