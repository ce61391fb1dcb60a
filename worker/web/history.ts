import type { ExecutionSummary, Room } from "../../sdk/index.ts";
import { button, byId, make } from "./dom.ts";
import { duration, moment, reason } from "./format.ts";
import { TERMINAL_COMMAND } from "./terminal-command.ts";

/** While the page is seen it looks so often for what others have run; no call of this wakes or keeps a room. */
const LOOK_MS = 5_000;
const PAGE = 50;

interface Actions {
  open(execution: ExecutionSummary): void;
  /** Told of the newest ones, each time they were looked for. */
  looked(executions: ExecutionSummary[]): void;
}

/** The executions of the room, newest first. */
export class History {
  readonly #room: Room;
  readonly #actions: Actions;
  readonly #list = byId("history-list");
  readonly #rows = new Map<string, { row: HTMLElement; told: string }>();
  #entries: ExecutionSummary[] = [];
  #timer = 0;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #slowdown = 1;

  constructor(room: Room, actions: Actions) {
    this.#room = room;
    this.#actions = actions;
    byId("older").addEventListener("click", () => this.#showOlder());
    document.addEventListener("visibilitychange", () => this.look());
  }

  /** Looks for what is new, now; once more if it is doing so already. */
  look(): void {
    clearTimeout(this.#timer);
    if (document.visibilityState !== "visible") return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      const again = this.#lookAgain;
      this.#lookAgain = false;
      if (again) this.look();
      else this.#timer = window.setTimeout(() => this.look(), LOOK_MS * this.#slowdown);
    });
  }

  slowDown(by: number): void {
    this.#slowdown = by;
  }

  async #look(): Promise<void> {
    try {
      const newest = await this.#first(PAGE);
      const ids = new Set(newest.map(({ id }) => id));
      const isGap = !this.#entries.some(({ id }) => ids.has(id)); // more has run than this call tells
      const rest = isGap ? [] : this.#entries.filter(({ id }) => !ids.has(id));
      this.#entries = newest.length < PAGE ? newest : [...newest, ...rest];
      this.#show();
      this.#fault("");
      this.#actions.looked(newest);
    } catch (error) {
      this.#fault(reason(error));
    }
  }

  async #first(count: number): Promise<ExecutionSummary[]> {
    const entries: ExecutionSummary[] = [];
    for await (const entry of this.#room.executions({ pageSize: Math.min(count, 100) })) {
      if (entries.push(entry) >= count) break;
    }
    return entries;
  }

  async #showOlder(): Promise<void> {
    try {
      this.#entries = await this.#first(this.#entries.length + PAGE);
      this.#show();
    } catch (error) {
      this.#fault(reason(error));
    }
  }

  #fault(text: string): void {
    byId("history-fault").textContent = text;
  }

  /** Rows that tell the same stay as they are, with the focus that one may have. */
  #show(): void {
    const kept = new Set(this.#entries.map(({ id }) => id));
    for (const [id, { row }] of this.#rows) {
      if (kept.has(id)) continue;
      row.remove();
      this.#rows.delete(id);
    }
    let before: Element | null = this.#list.firstElementChild;
    for (const entry of this.#entries) {
      const row = this.#rowOf(entry);
      if (row === before) before = before.nextElementSibling;
      else this.#list.insertBefore(row, before);
    }
    byId("history-none").hidden = this.#entries.length > 0;
    byId("older").hidden = this.#entries.length < PAGE;
  }

  #rowOf(entry: ExecutionSummary): HTMLElement {
    const told = `${entry.status} ${entry.exitCode}`;
    const known = this.#rows.get(entry.id);
    if (known?.told === told) return known.row;
    const row = known?.row ?? make("li");
    row.dataset.id = entry.id;
    row.dataset.status = entry.status;
    const shown = button("", () => this.#actions.open(entry));
    shown.className = "entry";
    shown.append(...cells(entry));
    row.replaceChildren(shown);
    this.#rows.set(entry.id, { row, told });
    return row;
  }
}

function cells({ command, status, exitCode, duration: ms, timestamp, success }: ExecutionSummary): HTMLElement[] {
  const isTerminal = command === TERMINAL_COMMAND;
  const kind = status === "running" ? "running" : success ? "good" : "bad";
  const word = status === "completed" ? `exit ${exitCode}` : status;
  return [
    make("code", { class: "what" }, isTerminal ? "the shared terminal" : command),
    make("span", { class: `status ${kind}` }, word),
    make("span", { class: "took" }, ms === null ? "" : duration(ms)),
    make("time", { datetime: timestamp }, moment(timestamp)),
  ];
}
