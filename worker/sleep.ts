import type { Activity } from "./activity";
import type { SandboxContainer, SaveFault } from "./container";
import type { Executions } from "./executions";
import type { OutcomeName } from "./outcome";

const DAY_MS = 24 * 3600_000;
/** The platform keeps a snapshot for 30 days after it was taken or last used: the files of a room that sleeps on are saved anew. */
const RENEW_MS = 20 * DAY_MS;
/** Pauses before files that could not be saved are saved again. */
const FIRST_RETRY_MS = 15_000;
const LAST_RETRY_MS = 600_000;
/** How long what runs in a room that is told to sleep may take to end, and what was answered to leave. */
const CANCEL_MS = 10_000;
const QUIET_MS = 2000;
const QUIET_PAUSE_MS = 10;

/** Puts a room to sleep that nobody uses: saves its files and ends its container. What is not saved is not ended. */
export class Sleep {
  readonly #storage: DurableObjectStorage;
  readonly #container: SandboxContainer;
  readonly #executions: Executions;
  readonly #activity: Activity;
  readonly #default: number;
  /** When to try again, in Unix milliseconds, and after which pause, in milliseconds. */
  #retryAt = 0;
  #pause = 0;

  /** @param after how long a room is unused before it sleeps, in milliseconds, unless it was told otherwise; 0: it never does */
  constructor(
    storage: DurableObjectStorage,
    container: SandboxContainer,
    executions: Executions,
    activity: Activity,
    after: number,
  ) {
    this.#storage = storage;
    this.#container = container;
    this.#executions = executions;
    this.#activity = activity;
    this.#default = after;
  }

  /** As the constructor's, of this room. */
  get after(): number {
    return this.#storage.kv.get<number>("sleepAfter") ?? this.#default;
  }

  set after(ms: number) {
    this.#storage.kv.put("sleepAfter", ms);
  }

  /** Why the room could not sleep when it last should have; undefined: it could. */
  get fault(): SaveFault | undefined {
    return this.#storage.kv.get<SaveFault>("sleepError");
  }

  /** When to look again, in Unix milliseconds; undefined: there is nothing to look for. */
  get due(): number | undefined {
    if (this.#container.running) return this.after === 0 ? undefined : Math.max(this.#idleAt, this.#retryAt);
    const { snapshot } = this.#container;
    return snapshot && Math.max(snapshot.at + RENEW_MS, this.#retryAt);
  }

  /** Does what is due. */
  async look(): Promise<void> {
    const { due } = this;
    if (due === undefined || due > Date.now()) return;
    if (!this.#container.running) return this.#renew();
    if (await this.#isIdle()) await this.#fallAsleep();
  }

  /** Has the room sleep at once: what runs in it is killed, what is open in it closed. Undefined once it sleeps. */
  async now(): Promise<OutcomeName | undefined> {
    const { life } = this.#container;
    return this.#container.hold(async () => {
      if (!this.#container.running) return undefined;
      await this.#executions.cancelAll(CANCEL_MS);
      await this.#quiet();
      this.#container.cut(); // an upload that is cut before the files are saved leaves nothing in them
      await this.#quiet();
      if (life !== this.#container.life) return "gone";
      if (!(await this.#save())) return life === this.#container.life ? "sleep_failed" : "gone";
      await this.#container.end();
      return undefined;
    });
  }

  /** Nobody has called meanwhile; only then it ends, for a save takes its time. */
  async #fallAsleep(): Promise<void> {
    const { uses } = this.#activity;
    if (!(await this.#save()) || uses !== this.#activity.uses) return;
    await this.#container.hold(() => this.#container.end());
  }

  async #save(): Promise<boolean> {
    const { life } = this.#container;
    const fault = await this.#container.save();
    if (life !== this.#container.life) return false;
    if (fault) this.#retryLater();
    else this.#pause = 0;
    if (fault !== this.fault) fault ? this.#storage.kv.put("sleepError", fault) : this.#storage.kv.delete("sleepError");
    return !fault;
  }

  #retryLater(): void {
    this.#pause = Math.min(Math.max(this.#pause * 2, FIRST_RETRY_MS), LAST_RETRY_MS);
    this.#retryAt = Date.now() + this.#pause;
  }

  /** Starts a container from the snapshot, which is then as good as new, and has it sleep again. */
  async #renew(): Promise<void> {
    const { uses } = this.#activity;
    if (await this.#container.ready()) {
      this.#retryAt = Date.now() + DAY_MS;
      return;
    }
    if (uses === this.#activity.uses) await this.#fallAsleep();
  }

  /** Whether nobody would miss the container. An agent that says nothing keeps nobody. */
  async #isIdle(): Promise<boolean> {
    if (await this.#container.activity()) this.#activity.note();
    return this.#idleAt <= Date.now();
  }

  /** Waits until all that was answered has left the container. */
  async #quiet(): Promise<void> {
    const deadline = Date.now() + QUIET_MS;
    while (Date.now() < deadline && (await this.#container.activity())) await scheduler.wait(QUIET_PAUSE_MS);
  }

  get #idleAt(): number {
    if (this.#activity.open > 0 || this.#executions.anyRunning) return Date.now() + this.after;
    return Math.max(this.#activity.idleSince, this.#executions.lastEnd) + this.after;
  }
}
