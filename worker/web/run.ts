import { type ExecEvent, type ExecutionSummary, type Room, RoomboxError } from "../../sdk/index.ts";
import { byId } from "./dom.ts";
import { duration, reason } from "./format.ts";
import { notify } from "./notices.ts";
import { OutputView } from "./output.ts";

/** A command of the run box that goes on longer is killed: what is to stay belongs into the terminal. */
const TIMEOUT_MS = 600_000;
const TICK_MS = 100;

/** What the output view is showing. */
interface Shown {
  command: string;
  /** Unix milliseconds. */
  began: number;
  /** Ends the following of it; the execution goes on, unless it is this page's own. */
  leave: AbortController;
  id: string | undefined;
  /** It is to be killed, once it is known. */
  isStopped: boolean;
}

/** The run box, with the output of one execution: of the one it has run last, or one that was picked from the history. */
export class Run {
  readonly #room: Room;
  readonly #onChange: (change: "began" | "ended") => void;
  readonly #input = byId<HTMLTextAreaElement>("command");
  readonly #state = byId("run-state");
  readonly #output = new OutputView(byId("output"), byId("output-cut"));
  readonly #typed: string[] = [];
  #recalled = 0;
  #shown: Shown | undefined;
  #tick = 0;

  /** @param onChange told when a command of the run box has begun, and ended */
  constructor(room: Room, onChange: (change: "began" | "ended") => void) {
    this.#room = room;
    this.#onChange = onChange;
    byId("run-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    byId("stop").addEventListener("click", () => this.#stop());
    byId("again").addEventListener("click", () => this.run(this.#shown?.command ?? ""));
  }

  focus(): void {
    this.#input.focus();
  }

  /** Runs a command and shows what it writes as it does. Another one that runs goes on, unseen. */
  async run(command: string): Promise<void> {
    if (command.trim() === "") return;
    const shown = this.#show(command, Date.now());
    const events = this.#room.stream(command, { timeoutMs: TIMEOUT_MS });
    await this.#follow(shown, this.#told(shown, events));
    this.#onChange("ended");
  }

  /** Shows an execution of the history; one that runs as it goes on. */
  async open({ id, command, timestamp }: ExecutionSummary): Promise<void> {
    const shown = this.#show(command, Date.parse(timestamp));
    shown.id = id;
    await this.#follow(shown, this.#room.execution(id).events({ signal: shown.leave.signal }));
  }

  async *#told(shown: Shown, events: AsyncIterable<ExecEvent>): AsyncGenerator<ExecEvent> {
    for await (const event of events) {
      if (event.type === "start") {
        shown.id = event.id;
        if (shown.isStopped) this.#kill(shown);
        this.#onChange("began");
      }
      yield event;
    }
  }

  #show(command: string, began: number): Shown {
    this.#shown?.leave.abort();
    this.#output.clear();
    const shown: Shown = { command, began, leave: new AbortController(), id: undefined, isStopped: false };
    this.#shown = shown;
    byId("output-of").textContent = command;
    byId("shown").hidden = false;
    this.#setRunning(true);
    const tell = () => this.#tell(`Running for ${duration(Date.now() - began)}`, "running");
    clearInterval(this.#tick);
    this.#tick = window.setInterval(tell, TICK_MS);
    tell();
    return shown;
  }

  async #follow(shown: Shown, events: AsyncIterable<ExecEvent>): Promise<void> {
    try {
      for await (const event of events) if (this.#shown === shown) this.#hear(event);
    } catch (error) {
      if (this.#shown === shown) this.#end(reason(error), "failed");
    }
  }

  #hear(event: ExecEvent): void {
    if (event.type === "stdout" || event.type === "stderr") this.#output.append(event.type, event.data);
    if (event.type === "error") this.#end(event.error.message, "failed");
    if (event.type !== "exit") return;
    const { exitCode, duration: ms, status, signal, oom, success } = event.result;
    const how = [`Exit code ${exitCode}`, signal, oom && "out of memory", status !== "completed" && status];
    this.#end(`${how.filter(Boolean).join(", ")} after ${duration(ms ?? 0)}`, success ? "good" : "bad");
  }

  #end(text: string, kind: string): void {
    clearInterval(this.#tick);
    this.#setRunning(false);
    this.#tell(text, kind);
  }

  #tell(text: string, kind: string): void {
    this.#state.setAttribute("aria-live", kind === "running" ? "off" : "polite"); // a clock is not to be read out
    this.#state.textContent = text;
    this.#state.className = `state ${kind}`;
  }

  #setRunning(isRunning: boolean): void {
    byId("stop").hidden = !isRunning;
    byId("again").hidden = isRunning;
    byId("output").setAttribute("aria-busy", `${isRunning}`);
  }

  #stop(): void {
    if (!this.#shown) return;
    this.#shown.isStopped = true;
    this.#kill(this.#shown);
  }

  async #kill({ id }: Shown): Promise<void> {
    if (id === undefined) return;
    try {
      await this.#room.execution(id).kill();
    } catch (error) {
      if (!(error instanceof RoomboxError && error.code === "conflict")) notify(reason(error)); // else it has ended by itself
    }
  }

  #submit(): void {
    const command = this.#input.value;
    if (command.trim() === "") return;
    this.#typed.push(command);
    this.#recalled = this.#typed.length;
    this.#input.value = "";
    this.run(command);
  }

  /** Enter runs, with Shift it is a new line; the arrows bring back what was typed before. */
  #key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#submit();
    }
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (step === undefined || this.#input.value.includes("\n")) return;
    const at = this.#recalled + step;
    if (at < 0 || at > this.#typed.length) return;
    event.preventDefault();
    this.#recalled = at;
    this.#input.value = this.#typed[at] ?? "";
  }
}
