import { DurableObject } from "cloudflare:workers";
import { Activity } from "./activity";
import { SandboxContainer } from "./container";
import { EXECUTION_HEADER, Executions } from "./executions";
import { type Field, writeFields } from "./fields";
import { callFiles, isFileCall } from "./files";
import { type Outcome, outcomeReply } from "./outcome";

/** While commands run, the object is woken so often: the platform puts one to sleep that nobody calls, and with it the feed. */
const WAKE_MS = 30_000;

/** One room's sandbox: its container and its executions, from the first call to `destroy`. */
export class Sandbox extends DurableObject<Env> {
  readonly #activity: Activity;
  readonly #container: SandboxContainer;
  readonly #executions: Executions;
  #deletion: Promise<unknown> = Promise.resolve();
  #alarmSet = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#activity = new Activity(ctx, env);
    this.#container = new SandboxContainer(ctx, Number(env.START_TIMEOUT_MS), {
      starting: async () => {
        this.#executions.containerEnded(); // an earlier one, whose end nobody saw
        await this.#activity.create();
      },
      ended: () => this.#executions.containerEnded(),
    });
    this.#executions = new Executions(ctx.storage.sql, this.#container);
    this.#executions.resume();
  }

  /** Carries out a call of the worker that runs a command or is about an execution or a file: by the agent, or by what is stored. */
  override async fetch(request: Request): Promise<Response> {
    await this.#deletion;
    const { life } = this.#container;
    try {
      return await this.#carryOut(request, life);
    } catch (error) {
      if (!request.signal.aborted) console.error(`${this.ctx.id.name}: no reply`, error);
      return outcomeReply(life === this.#container.life ? "lost" : "gone");
    } finally {
      await this.#stayAwake();
    }
  }

  /** Starts the sandbox, with variables for all of its commands; the room is there afterwards. */
  async create(variables: Uint8Array): Promise<Outcome> {
    await this.#deletion;
    this.#container.keepVariables(variables);
    const { life } = this.#container;
    const failure = await this.#container.ready();
    if (life !== this.#container.life) return { name: "gone" };
    return failure ? { name: failure } : { name: "created", fields: this.#room() };
  }

  /** Ends the sandbox and forgets all about it. Calls in flight are told that it is gone, later ones get a new one. */
  async destroy(): Promise<Outcome> {
    const deletion = this.#deletion.then(() => this.#delete());
    this.#deletion = deletion.catch(() => undefined);
    return deletion;
  }

  /** The room as it is. Like the two below, neither wakes nor writes anything. */
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

  override async alarm(): Promise<void> {
    this.#alarmSet = false;
    await this.#stayAwake();
  }

  async #carryOut(request: Request, life: number): Promise<Response> {
    const id = request.headers.get(EXECUTION_HEADER);
    this.#activity.note();
    if (isFileCall(request)) return callFiles(this.#container, request, life);
    return id === null ? this.#executions.run(request, life) : this.#executions.call(request, id);
  }

  async #stayAwake(): Promise<void> {
    if (this.#alarmSet || !this.#executions.anyRunning) return;
    this.#alarmSet = true;
    await this.ctx.storage.setAlarm(Date.now() + WAKE_MS);
  }

  async #delete(): Promise<Outcome> {
    const existed = this.#container.running || this.#activity.created !== undefined;
    this.#executions.close();
    await this.#container.destroy();
    await this.ctx.storage.deleteAll();
    this.#alarmSet = false;
    this.#executions.forget();
    if (existed) await this.#activity.forget();
    return { name: existed ? "deleted" : "absent" };
  }

  #room() {
    const { created } = this.#activity;
    const fields: Field[] = [
      ["sandbox", this.#activity.name],
      ["status", this.#status(created)],
    ];
    if (created !== undefined) {
      const active = Math.max(created, this.#activity.active, this.#executions.newest ?? 0);
      fields.push(["created_ms", created], ["active_ms", active]);
    }
    return writeFields(...fields);
  }

  #status(created: number | undefined): string {
    if (this.#container.starting) return "starting";
    if (this.#container.running) return "running";
    return created === undefined ? "absent" : "asleep";
  }
}
