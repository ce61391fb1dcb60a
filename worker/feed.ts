import type { SandboxContainer } from "./container";
import { type Frame, readFrames } from "./frames";
import type { Records } from "./records";
import { within } from "./within";

/** Pauses before the feed is opened again. */
const FIRST_PAUSE_MS = 25;
const LAST_PAUSE_MS = 1000;
const ACK_PAUSE_MS = 250;

/**
 * Writes down what the agent tells of executions that have ended, for as long as any runs, and tells it what is written.
 * Leaves none running whose end no agent will tell.
 */
export class Feed {
  readonly #container: SandboxContainer;
  readonly #records: Records;
  /** Asked after each time that the agent had nothing more to tell: those that run and that it may not know of. */
  readonly #doubtful: () => string[];
  #reading = false;
  #closed = new AbortController();
  #written: string[] = [];
  #acknowledging = false;

  constructor(container: SandboxContainer, records: Records, doubtful: () => string[]) {
    this.#container = container;
    this.#records = records;
    this.#doubtful = doubtful;
  }

  /** Reads until nothing runs, unless it does already. */
  open(): void {
    if (this.#reading) return;
    this.#reading = true;
    const { signal } = this.#closed;
    this.#read(signal).catch((error: unknown) => console.error("the records cannot be read", error));
  }

  /** Stops reading and acknowledging: nothing is written any more. */
  close(): void {
    this.#closed.abort();
    this.#closed = new AbortController();
    this.#reading = false;
    this.#acknowledging = false;
    this.#written = [];
  }

  /** The agent is asked whether it knows an execution. Undefined: it did not say. */
  async knows(id: string): Promise<boolean | undefined> {
    try {
      const reply = await this.#container.fetch(`/executions/${id}`, { signal: this.#closed.signal });
      await reply.body?.cancel();
      return reply.ok ? true : reply.status === 404 ? false : undefined;
    } catch {
      return undefined;
    }
  }

  async #read(closed: AbortSignal): Promise<void> {
    try {
      let since: number | undefined;
      for (let pause = FIRST_PAUSE_MS; !closed.aborted && this.#records.anyRunning; await scheduler.wait(pause)) {
        if (!this.#container.running) return this.#fail(this.#records.running());
        const failure = await this.#readOnce(closed);
        if (closed.aborted) return;
        since = failure ? (since ?? Date.now()) : undefined;
        pause = failure ? Math.min(pause * 2, LAST_PAUSE_MS) : FIRST_PAUSE_MS;
        if (since === undefined || Date.now() - since < this.#container.patience) continue;
        await this.#giveUp(failure);
        since = undefined;
      }
    } finally {
      // At once, for who adds a running one next is to find that nobody reads.
      if (!closed.aborted) this.#reading = false;
    }
  }

  /** Reads to the feed's end; returns what kept it from it, if nothing came before that. */
  async #readOnce(closed: AbortSignal): Promise<unknown> {
    let frames = 0;
    try {
      const reply = await within(this.#container.patience, this.#container.fetch("/records", { signal: closed }));
      if (!reply) throw new Error("the agent does not answer");
      if (!reply.ok || !reply.body) throw new Error(`the agent answered ${reply.status} for its records`);
      for await (const frame of readFrames(reply.body)) {
        if (closed.aborted) return undefined;
        this.#write(frame);
        frames++;
      }
      await this.#settleDoubtful(closed);
      return undefined;
    } catch (error) {
      return frames > 0 ? undefined : error;
    }
  }

  #write(frame: Frame): void {
    if (frame.status === "running") throw new Error(`the agent says of ${frame.id} that it ended running`);
    this.#records.finish(frame);
    this.#written.push(frame.id);
    this.#acknowledge();
  }

  /** One call at a time takes all that was written meanwhile. The platform sends it once the writes are safe. */
  async #acknowledge(): Promise<void> {
    if (this.#acknowledging) return;
    this.#acknowledging = true;
    const { signal } = this.#closed;
    while (this.#written.length > 0 && this.#container.running && !signal.aborted) {
      const ids = this.#written;
      this.#written = [];
      try {
        const body = ids.map((id) => `${id}\n`).join("");
        const reply = await this.#container.fetch("/records/stored", { method: "POST", body, signal });
        await reply.body?.cancel();
        if (!reply.ok) throw new Error(`the agent answered ${reply.status} for what is stored`);
      } catch {
        if (signal.aborted) return;
        this.#written.unshift(...ids);
        await scheduler.wait(ACK_PAUSE_MS);
      }
    }
    if (!signal.aborted) this.#acknowledging = false;
  }

  /** An agent with nothing more to tell should know all that run: of those that it does not, no end will be told. */
  async #settleDoubtful(closed: AbortSignal): Promise<void> {
    for (const id of this.#doubtful()) {
      const known = await this.knows(id);
      if (closed.aborted) return;
      if (known === false) this.#fail([id]);
    }
  }

  /** As patient as with a start: an agent that cannot be asked for so long is of no use. What it has in files is. */
  async #giveUp(error: unknown): Promise<void> {
    console.error("the agent does not tell of its executions and is ended", error);
    await this.#container.hold(async () => {
      if ((await this.#container.save()) === undefined) await this.#container.end();
    });
  }

  #fail(ids: string[]): void {
    this.#records.fail(ids, "lost");
  }
}
