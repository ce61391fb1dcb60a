import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import {
  type Attachment,
  ConnectionError,
  type Execution,
  type ExecutionSummary,
  type People,
  type Room,
  RoomboxError,
} from "../../sdk/index.ts";
import "@xterm/xterm/css/xterm.css";
import { byId } from "./dom.ts";
import { reason } from "./format.ts";
import { isShortcut } from "./keys.ts";
import { TERMINAL_COMMAND } from "./terminal-command.ts";
import { formatSize, type Size, sizeIn } from "./terminal-size.ts";

/** Nobody is there for so long: then the shell ends, so that the room can sleep. */
const ALONE_MS = 30 * 60_000;
/** What is not drawn yet, in bytes: with more, the newest is read anew from what the server keeps. */
const MAX_BEHIND = 16 << 20;
const PAUSES_MS = [250, 500, 1000, 2000, 5000];
const FONT_PX = 13;
const LEAST_FONT_PX = 6;

interface Others {
  /** Tells the others the size that the terminal is to have, and that this page is the one that says so. */
  say(size: string): void;
  /** Something was written in it, by a command perhaps. */
  wrote(): void;
  /** It is attached, perhaps to one that was just begun. */
  attached(): void;
}

/** The terminal of the room: one execution, to which all pages are attached. */
export class SharedTerminal {
  readonly #room: Room;
  readonly #others: Others;
  readonly #box = byId("screen");
  readonly #term: Terminal;
  readonly #fit = new FitAddon();
  #attachment: Attachment | undefined;
  /** Whether this page says how large it is: the page whose reader typed last does. */
  #leads = false;
  /** Whether what is being drawn is news: only then does a terminal answer what a program asks it. */
  #isLive = false;
  #size: Size | undefined;
  /** The last of what was typed: one goes after the other, whatever becomes of the line. */
  #sent: Promise<void> = Promise.resolve();
  /** Ends the wait of who has lost the line, or seen the shell end. */
  #wake: () => void = () => {};
  #waitsFor: "nothing" | "line" | "reader" = "nothing";
  /** Bytes that wait to be drawn: xterm.js throws beyond 50 MB, and a page that is not seen draws next to nothing. */
  #behind = 0;
  /** The execution that it is, or was last, attached to. */
  #id: string | undefined;

  constructor(room: Room, others: Others) {
    this.#room = room;
    this.#others = others;
    this.#term = new Terminal({ ...look(), fontSize: FONT_PX, scrollback: 5000, cursorBlink: !isStill.matches });
    this.#term.loadAddon(this.#fit);
    this.#term.open(this.#box);
    this.#term.attachCustomKeyEventHandler((event) => !isShortcut(event));
    this.#term.onData((data) => this.#typed(data));
    this.#term.onBinary((data) => this.#typed(Uint8Array.from(data, (char) => char.charCodeAt(0))));
    this.#holdAnswers();
    new ResizeObserver(() => this.#fitBox()).observe(this.#box);
    for (const change of [isDark, isStill])
      change.addEventListener("change", () => {
        Object.assign(this.#term.options, look(), { cursorBlink: !isStill.matches });
      });
    const lookForLine = () => this.#waitsFor === "line" && this.#wake();
    window.addEventListener("online", lookForLine);
    document.addEventListener("visibilitychange", lookForLine);
  }

  focus(): void {
    this.#term.focus();
  }

  /** Attaches, again whenever the line is lost or the shell has ended and a reader wants another. Never settles. */
  async run(): Promise<never> {
    for (let losses = 0; ; ) {
      try {
        this.#tell(losses === 0 ? "Connecting" : "Reconnecting", "running");
        const exit = await this.#attach(await this.#open());
        losses = 0;
        if (exit === undefined) await this.#drawn();
        else await this.#ended(`The shell has ended with exit code ${exit}.`);
      } catch (error) {
        if (!mayComeBack(error)) await this.#ended(reason(error));
        else await this.#pause(PAUSES_MS[Math.min(losses++, PAUSES_MS.length - 1)] ?? 0);
      }
    }
  }

  /** Follows who spoke last. */
  follow(present: People | undefined): void {
    if (!present) {
      this.#lead();
      return;
    }
    const leader = present.people.find(({ state }) => sizeIn(state));
    if (!leader) {
      if (present.people[0]?.id === present.you) this.#lead();
      return;
    }
    const leads = leader.id === present.you;
    if (leads && !this.#leads) {
      this.#lead(); // who led has left, and this page may have another size by now
      return;
    }
    this.#leads = leads;
    this.#setSize(sizeIn(leader.state));
  }

  /** Tells of the room's executions: another reader may have begun a new shell. */
  noticed(executions: ExecutionSummary[]): void {
    const newest = executions.find(({ command }) => command === TERMINAL_COMMAND);
    const isAnother = newest?.status === "running" && newest.id !== this.#id;
    if (this.#waitsFor === "reader" && isAnother) this.#wake();
  }

  /** The one that all are attached to. Who comes at once asks for the same one, by a key that is made of the last one's id. */
  async #open(): Promise<Execution> {
    const last = await this.#newest();
    if (last?.status === "running") return this.#room.execution(last.id);
    const key = `room-page-terminal-after-${last?.id ?? "none"}`;
    const options = { pty: true, maxRunAfterDisconnectMs: ALONE_MS };
    try {
      return await this.#room.start(TERMINAL_COMMAND, { ...options, idempotencyKey: key });
    } catch (error) {
      if (!(error instanceof RoomboxError && error.code === "gone")) throw error;
      return this.#room.start(TERMINAL_COMMAND, options); // that key's one is so long ago that nobody remembers it
    }
  }

  async #newest(): Promise<ExecutionSummary | undefined> {
    for await (const execution of this.#room.executions()) if (execution.command === TERMINAL_COMMAND) return execution;
    return undefined;
  }

  /** From the screen as it is to the shell's end; its exit code, or undefined where there is more than can be drawn. */
  async #attach(execution: Execution): Promise<number | undefined> {
    this.#isLive = false;
    let isNew = true;
    let wasPast = true;
    const attachment = await execution.attach();
    this.#attachment = attachment;
    this.#id = execution.id;
    this.#tell("Live", "good");
    this.#others.attached();
    try {
      this.#pushSize();
      for await (const { data, isPast } of attachment) {
        if (isNew) this.#term.reset();
        isNew = false;
        if (isPast !== wasPast) this.#afterDrawn(() => this.#setLive(!isPast));
        wasPast = isPast;
        if (!isPast) this.#others.wrote();
        this.#behind += data.length;
        this.#term.write(data, () => {
          this.#behind -= data.length;
        });
        if (this.#behind > MAX_BEHIND) return undefined;
      }
      return await attachment.exit;
    } finally {
      this.#attachment = undefined;
      attachment.close();
    }
  }

  #setLive(isLive: boolean): void {
    this.#isLive = isLive;
  }

  /** What is written is drawn in order, later: this is done in its turn. */
  #afterDrawn(work: () => void): void {
    this.#term.write("", work);
  }

  /** All is drawn that has come: what comes next is drawn behind it. */
  #drawn(): Promise<void> {
    return new Promise((resolve) => this.#afterDrawn(resolve));
  }

  async #ended(text: string): Promise<void> {
    this.#tell("Ended", "bad");
    this.#term.write(`\r\n\x1b[0m\x1b[2m${plain(text)} Press Enter for a new shell.\x1b[0m\r\n`);
    await this.#wait("reader");
  }

  async #pause(ms: number): Promise<void> {
    this.#tell("Reconnecting", "running");
    const timer = setTimeout(() => this.#wake(), ms);
    await this.#wait("line");
    clearTimeout(timer);
  }

  async #wait(what: "line" | "reader"): Promise<void> {
    this.#waitsFor = what;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#waitsFor = "nothing";
  }

  #typed(input: string | Uint8Array): void {
    if (this.#waitsFor === "reader") {
      if (input === "\r") this.#wake();
      return;
    }
    if (!this.#leads) this.#lead();
    // After a lost line this rejects once, as what was typed before may be lost: who types sees that.
    const send = () => this.#attachment?.write(input);
    this.#sent = this.#sent
      .then(send)
      .catch(send)
      .catch(() => {});
  }

  /** Has the terminal fit this page. */
  #lead(): void {
    this.#leads = true;
    this.#fitBox();
    this.#pushSize();
  }

  /** This page's box has another size. */
  #fitBox(): void {
    this.#setFont(FONT_PX);
    const fitting = this.#fit.proposeDimensions();
    if (!fitting || !(fitting.cols > 1 && fitting.rows > 1)) return; // it is not to be seen
    const size = sizeIn(formatSize(fitting)) ?? fitting;
    if (this.#leads) this.#others.say(formatSize(size));
    this.#setSize(this.#leads ? size : (this.#size ?? size));
  }

  #setSize(size: Size | undefined): void {
    if (!size) return;
    const isOther = size.cols !== this.#size?.cols || size.rows !== this.#size.rows;
    this.#size = size;
    this.#setFont(FONT_PX);
    const fitting = this.#fit.proposeDimensions();
    if (!this.#leads && fitting) {
      const share = Math.min(1, fitting.cols / size.cols, fitting.rows / size.rows);
      this.#setFont(Math.max(LEAST_FONT_PX, Math.floor(FONT_PX * share)));
    }
    this.#term.resize(size.cols, size.rows);
    if (isOther) this.#pushSize();
  }

  #setFont(px: number): void {
    if (this.#term.options.fontSize !== px) this.#term.options.fontSize = px;
  }

  #pushSize(): void {
    if (!this.#leads || !this.#size) return;
    this.#attachment?.resize(this.#size.cols, this.#size.rows).catch(() => {}); // it has ended
  }

  /**
   * Programs ask a terminal what it is and where its cursor stands, and read the answer as if it were typed. One page answers
   * for all, and none answers what was asked in the past.
   */
  #holdAnswers(): void {
    const { parser } = this.#term;
    const isHeld = () => !(this.#isLive && this.#leads);
    for (const id of [
      { final: "c" },
      { prefix: ">", final: "c" },
      { prefix: "=", final: "c" },
      { final: "n" },
      { prefix: "?", final: "n" },
      { final: "t" },
      { prefix: ">", final: "q" },
      { intermediates: "$", final: "p" },
      { prefix: "?", intermediates: "$", final: "p" },
    ])
      parser.registerCsiHandler(id, isHeld);
    parser.registerDcsHandler({ intermediates: "$", final: "q" }, isHeld);
    for (const color of [4, 10, 11, 12]) parser.registerOscHandler(color, (data) => data.includes("?") && isHeld());
  }

  #tell(text: string, kind: string): void {
    const state = byId("terminal-state");
    state.textContent = text;
    state.className = `state ${kind}`;
  }
}

const isDark = matchMedia("(prefers-color-scheme: dark)");
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

/** The page's colours and font, as its style sheet has them at the moment. */
function look(): { theme: ITheme; fontFamily: string } {
  const style = getComputedStyle(byId("screen"));
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const bright = (name: string) => `bright${name[0]?.toUpperCase()}${name.slice(1)}`;
  const theme = Object.fromEntries(
    names.flatMap((name) => [
      [name, colour(`term-${name}`)],
      [bright(name), colour(`term-bright-${name}`) || colour(`term-${name}`)],
    ]),
  );
  const background = style.backgroundColor;
  const selectionBackground = colour("term-selection");
  return {
    theme: {
      ...theme,
      background,
      foreground: style.color,
      cursor: style.color,
      cursorAccent: background,
      selectionBackground,
    },
    fontFamily: style.fontFamily,
  };
}

/** What the server or the line may be over with in a while. */
function mayComeBack(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof RoomboxError && [429, 503].includes(error.status));
}

/** Text that goes to the terminal, with nothing in it that means something to one. */
const plain = (text: string) => text.replace(/\p{Cc}/gu, " ");
