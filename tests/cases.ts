import { concat } from "../worker/bytes";
import cases from "./data/edge.json";

type Part = string | { repeat: string; times: number } | { base64: string };

/** A case of tests/data/edge.json; the README beside it tells what it means. */
export interface Case {
  name: string;
  request: { method: string; path: string; headers?: Record<string, string>; body?: string | Part[] };
  expect: {
    action: "answer" | "forward" | "ask";
    /** Of a forward and of an ask: the sandbox, empty where none is named. */
    sandbox?: string;
    /** Of a forward: the agent's call, some of its headers, and the record's seed. */
    method?: string;
    path?: string;
    seed?: string;
    /** Of an ask. */
    operation?: string;
    arguments?: Record<string, string>;
    /** Of an answer. */
    status?: number;
    headers?: Record<string, string>;
    json?: unknown;
    text?: string;
  };
}

export const edgeCases = cases as Case[];

const encoder = new TextEncoder();

/** The bytes of a case's body, or undefined where it has none. */
export function bodyOf({ request: { body } }: Case): Uint8Array<ArrayBuffer> | undefined {
  if (body === undefined) return undefined;
  return concat(...(typeof body === "string" ? [body] : body).map(bytesOf));
}

function bytesOf(part: Part): Uint8Array {
  if (typeof part === "string") return encoder.encode(part);
  if ("repeat" in part) return encoder.encode(part.repeat.repeat(part.times));
  return Uint8Array.from(atob(part.base64), (character) => character.charCodeAt(0));
}
