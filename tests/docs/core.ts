import { execFileSync } from "node:child_process";
import { type Decision, EdgeCore, headOf } from "../../worker/edge";

// The core that the document is held against: what it decides, and the tables that it decides by.

interface Tables {
  routes: { dialect: string; method: string; pattern: string; scope: string; stream: boolean }[];
  bodies: Record<string, { name: string; required: boolean }[]>;
  errors: Record<string, number>;
}

const program = ["--no-warnings", "tests/edge/run_wasi.mjs", "build/wasi/wasm/tables.wasm"];
export const tables: Tables = JSON.parse(execFileSync(process.execPath, program, { encoding: "utf8" }));

export interface Asked {
  method: string;
  path: string;
  headers?: Record<string, string>;
  /** JSON if it is no text. */
  body?: unknown;
  /** The host's word for whom it is from. */
  caller?: string;
}

const core = new EdgeCore();
const encoder = new TextEncoder();

export function decide({ method, path, headers = {}, body, caller = "key" }: Asked): Decision {
  const request = new Request(`http://localhost${path}`, { method, headers });
  const head = headOf(request, { caller, origins: "", maxRooms: "10" });
  return core.decide(
    head,
    encoder.encode(typeof body === "string" ? body : body === undefined ? "" : JSON.stringify(body)),
  );
}

/** The core's answer, where it answers by itself. */
export async function answerTo(asked: Asked): Promise<{ status: number; headers: Headers; json: unknown } | undefined> {
  const decision = decide(asked);
  if (decision.action !== "answer") return undefined;
  const { status, headers } = decision.response;
  const text = await decision.response.text();
  return { status, headers, json: headers.get("content-type") === "application/json" ? JSON.parse(text) : text };
}

/** What an invalid request is told, by field; the SDK's dialect tells the first fault alone. */
export function faultsIn(json: unknown): Record<string, string[]> {
  // biome-ignore lint/suspicious/noExplicitAny: an error of any dialect
  const body = json as any;
  const details = body.details ?? body.error?.details;
  if (details) return details;
  const [, field, fault] = /^(.+?): ((?:.|\n)*)$/.exec(`${body.error}`) ?? [];
  return field === undefined ? {} : { [field]: [fault ?? ""] };
}
