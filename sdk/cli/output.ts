import { styleText } from "node:util";

/** Whoever read stdout or stderr has gone. */
export class BrokenPipe extends Error {}

/** Exit code of a process that SIGPIPE ends. */
export const PIPE_BROKEN = 141;

/** Writes, and settles when the bytes are out. */
export function write(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => {
      if (!error) return resolve();
      reject("code" in error && error.code === "EPIPE" ? new BrokenPipe() : error);
    });
  });
}

/** The error of a write comes by its callback as well. */
export function takeErrors(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}

export const print = (text: string) => write(process.stdout, `${text}\n`);
export const tell = (text: string) => write(process.stderr, `${text}\n`);
export const printJson = (value: unknown) => print(JSON.stringify(value));

/** Text of others as a terminal may have it: what could steer it is left out. */
export function plain(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, "?");
}

/** Prints rows in columns, each as wide as it must be. */
export async function printTable(head: string[], rows: string[][]): Promise<void> {
  const all = [head, ...rows.map((row) => row.map(plain))];
  const widths = head.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  const line = (row: string[]) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join("  ")
      .trimEnd();
  await print(bold(line(head)));
  for (const row of all.slice(1)) await print(line(row));
}

export const bold = (text: string) => (process.stdout.isTTY ? styleText("bold", text) : text);

const STEPS = ["B", "KiB", "MiB", "GiB", "TiB"];
export function sizeOf(bytes: number): string {
  let step = 0;
  let amount = bytes;
  for (; amount >= 1024 && step < STEPS.length - 1; step++) amount /= 1024;
  return `${step === 0 ? amount : amount.toFixed(1)} ${STEPS[step]}`;
}

const BAR = 30;
const REDRAW_MS = 100;

/** A bar on stderr, where that is a terminal. */
export class Progress {
  readonly #name: string;
  readonly #total: number | undefined;
  readonly #isShown = process.stderr.isTTY === true;
  #done = 0;
  #drawn = 0;

  constructor(name: string, total: number | undefined) {
    this.#name = plain(name);
    this.#total = total;
  }

  add(bytes: number): void {
    this.#done += bytes;
    if (Date.now() - this.#drawn >= REDRAW_MS) this.#draw();
  }

  end(): void {
    if (!this.#isShown) return;
    this.#draw();
    process.stderr.write("\n");
  }

  #draw(): void {
    if (!this.#isShown) return;
    this.#drawn = Date.now();
    const part = this.#total ? Math.min(this.#done / this.#total, 1) : 1;
    const full = Math.round(part * BAR);
    const of = this.#total === undefined ? "" : ` of ${sizeOf(this.#total)}`;
    process.stderr.write(
      `\r\x1b[K${this.#name} [${"#".repeat(full)}${"-".repeat(BAR - full)}] ${sizeOf(this.#done)}${of}`,
    );
  }
}
