import { make } from "./dom.ts";
import { PlainText } from "./plain-text.ts";

/** Characters of output that the page keeps, about. */
const MAX_SHOWN = 256 << 10;
/** A block of whole lines ends behind so many characters, and in a line behind so many: browsers lay out blocks that change. */
const BLOCK = 8 << 10;
const LONGEST_BLOCK = 64 << 10;

type Stream = "stdout" | "stderr";

/** Shows what a command writes, the last of it, as plain text. */
export class OutputView {
  readonly #at: HTMLElement;
  readonly #cut: HTMLElement;
  readonly #plain = { stdout: new PlainText(), stderr: new PlainText() };
  /** What waits for the next frame: pieces come faster than screens are drawn. */
  #waiting: [Stream, string][] = [];
  #waits = 0;
  #blocks: { element: HTMLElement; length: number }[] = [];
  #shown = 0;
  #frame = 0;

  /** @param cut shown once something is left out */
  constructor(at: HTMLElement, cut: HTMLElement) {
    this.#at = at;
    this.#cut = cut;
  }

  clear(): void {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.#waiting = [];
    this.#waits = 0;
    this.#blocks = [];
    this.#shown = 0;
    this.#plain.stdout = new PlainText();
    this.#plain.stderr = new PlainText();
    this.#cut.hidden = true;
    this.#at.replaceChildren();
  }

  append(stream: Stream, data: string): void {
    const text = this.#plain[stream].push(data);
    if (text === "") return;
    this.#waiting.push([stream, text]);
    this.#waits += text.length;
    while (this.#waits - (this.#waiting[0]?.[1].length ?? 0) > MAX_SHOWN) {
      this.#waits -= this.#waiting.shift()?.[1].length ?? 0;
      this.#cut.hidden = false;
    }
    this.#frame ||= requestAnimationFrame(() => this.#draw());
  }

  #draw(): void {
    this.#frame = 0;
    const isAtEnd = this.#at.scrollHeight - this.#at.scrollTop - this.#at.clientHeight < 40;
    for (const [stream, text] of this.#waiting) this.#write(stream, text);
    this.#waiting = [];
    this.#waits = 0;
    while (this.#shown - (this.#blocks[0]?.length ?? 0) > MAX_SHOWN) this.#leaveOut();
    if (isAtEnd) this.#at.scrollTop = this.#at.scrollHeight;
  }

  #write(stream: Stream, text: string): void {
    for (let rest = text; rest !== ""; ) {
      const block = this.#openBlock();
      const lineEnd = rest.indexOf("\n", Math.max(BLOCK - block.length, 0)) + 1 || rest.length;
      const end = Math.min(lineEnd, LONGEST_BLOCK - block.length);
      this.#add(block.element, stream, rest.slice(0, end));
      block.length += end;
      this.#shown += end;
      rest = rest.slice(end);
    }
  }

  /** The last block, or a new one where that has all that it may. */
  #openBlock() {
    const last = this.#blocks.at(-1);
    const isFull = last && last.length >= BLOCK && (last.length >= LONGEST_BLOCK || endsLine(last.element));
    if (last && !isFull) return last;
    const block = { element: make("div"), length: 0 };
    this.#blocks.push(block);
    this.#at.append(block.element);
    return block;
  }

  #add(block: HTMLElement, stream: Stream, text: string): void {
    const last = block.lastElementChild;
    if (last?.className === stream) last.append(text);
    else block.append(make("span", { class: stream }, text));
  }

  #leaveOut(): void {
    const block = this.#blocks.shift();
    block?.element.remove();
    this.#shown -= block?.length ?? 0;
    this.#cut.hidden = false;
  }
}

const endsLine = (block: HTMLElement) => block.lastElementChild?.lastChild?.textContent?.endsWith("\n") === true;
