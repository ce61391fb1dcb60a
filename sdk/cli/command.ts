import { parseArgs } from "node:util";
import type { Roombox } from "../index.ts";

/** An option of a command: the table that parsing, help and completions come from. */
export interface Option {
  type: "string" | "boolean";
  short?: string;
  multiple?: boolean;
  /** What stands for its value in the help. */
  value?: string;
  help: string;
}

export type Values = Record<string, string | boolean | string[] | undefined>;

/** What a command is run with. */
export interface Context {
  client: Roombox;
  operands: string[];
  options: Values;
  json: boolean;
}

export interface Command {
  name: string;
  /** As the help has them, such as `ROOM [ID]`. */
  operands: string;
  /** How many there may be. */
  count: [least: number, most: number];
  summary: string;
  /** Lines that the command's own help has behind its options. */
  notes?: string[];
  options: Record<string, Option>;
  /** @return the exit code */
  run(context: Context): Promise<number>;
}

/** Exit code where roombox itself failed, and not what it ran. */
export const FAILED = 125;

/** The command line is wrong. */
export class UsageError extends Error {}

export const COMMON: Record<string, Option> = {
  url: { type: "string", value: "URL", help: "where Roombox is (ROOMBOX_URL; http://localhost:8787)" },
  token: { type: "string", value: "TOKEN", help: "room token or API key (ROOMBOX_TOKEN, ROOMBOX_API_KEY)" },
  json: { type: "boolean", help: "answer in JSON, errors too" },
  help: { type: "boolean", short: "h", help: "show this" },
};

/** Reads what follows the command's name. */
export function parse(command: Command, args: string[]): { operands: string[]; options: Values } {
  try {
    const table = { ...command.options, ...COMMON };
    const options = Object.entries(table).map(([name, { type, short, multiple = false }]) => {
      return [name, { type, multiple, ...(short && { short }) }] as const;
    });
    const read = parseArgs({ args, options: Object.fromEntries(options), allowPositionals: true });
    return { operands: read.positionals, options: read.values as Values };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

export function checkCount({ name, operands, count: [least, most] }: Command, given: string[]): void {
  if (given.length >= least && given.length <= most) return;
  throw new UsageError(`expected: roombox ${name} ${operands}`);
}

export const textOf = (value: Values[string]): string | undefined => (typeof value === "string" ? value : undefined);

const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds of a time such as `500ms`, `30s`, `5m`, `1h`, `2d`. */
export function durationOf(value: Values[string], option: string): number | undefined {
  const text = textOf(value);
  if (text === undefined) return undefined;
  const [, number, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  if (!number || !unit) throw new UsageError(`--${option}: expected a time such as 30s, 5m or 1h, received "${text}"`);
  return Number(number) * (UNIT_MS[unit] ?? 0);
}

/** A place in a room, `ROOM:/PATH`; none where the text is something else. */
export function placeOf(text: string): { room: string; path: string } | undefined {
  const [, room, path] = /^([A-Za-z0-9._-]+):(\/.*)$/s.exec(text) ?? [];
  return room && path ? { room, path } : undefined;
}
