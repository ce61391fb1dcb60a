import { readFields } from "./fields";

// What happened, a line of JSON each, to be counted, searched and kept: one of a request, at its answer's head, one of an
// execution, at its end, and one of what a command asks of a host outside. None has what is a caller's own: no output, no
// environment, no path of a file, no query, no credential.

/** What a request's line says beside its time: what is undefined is left out. */
export interface RequestNote {
  trace: string;
  method: string;
  /** The pattern of the API's call, never the path. */
  route: string | undefined;
  room: string | undefined;
  execution: string | undefined;
  /** Caller.name. */
  caller: string;
  /** What was done: `answer` or `forward`, or what an object was asked. */
  action: string;
  status: number;
  /** Of an error that is ours. */
  code: string | undefined;
  /** Until the answer's head: a stream or a socket goes on from there. */
  ms: number;
}

/** The status of a request whose client left before there was an answer. */
export const LEFT = 499;

export function tellRequest(env: Env, note: RequestNote): void {
  tell(env, { event: "request", time: new Date().toISOString(), ...note });
}

/** What the object adds to the record of an execution: for the line at its end, whichever instance writes that. */
export const KEPT_FIELDS = ["trace", "caller"];

/** Bytes of a command that a line has. */
const COMMAND_LENGTH = 1024;

/** Fields of a record whose values a line has. */
const TOLD = [
  ...KEPT_FIELDS,
  ...["id", "mode", "command", "arguments"],
  ...["status", "exit_code", "signal", "oom", "truncated", "duration_ms", "total", "error_code", "outcome"],
];

/** @param fields of its record (wasm/protocol/record.h), in as many parts as there are; later ones override earlier ones */
export function tellExecution(env: Env, room: string, fields: Uint8Array[]): void {
  const sizes: Record<string, number> = {};
  const values: Record<string, string> = {};
  for (const [name, value] of fields.flatMap((each) => [...readFields(each)])) {
    sizes[name] = value.byteLength;
    if (TOLD.includes(name)) values[name] = decoder.decode(value.subarray(0, COMMAND_LENGTH));
  }
  tell(env, {
    event: "execution",
    time: new Date().toISOString(),
    trace: values.trace,
    room,
    execution: values.id,
    caller: values.caller,
    mode: values.mode,
    status: values.status,
    code: values.error_code ?? values.outcome,
    exitCode: number(values.exit_code),
    signal: values.signal,
    ms: number(values.duration_ms),
    truncated: values.truncated === "1" || undefined,
    oom: values.oom === "1" || undefined,
    bytes: number(values.total),
    stdoutBytes: sizes.stdout,
    stderrBytes: sizes.stderr,
    ...(env.LOG_COMMANDS === "true" && { command: values.command, arguments: values.arguments?.replaceAll("\0", " ") }),
  });
}

/** What a command asked of a host outside: neither path nor query, which may hold secrets. */
export interface EgressNote {
  room: string;
  method: string;
  host: string;
  status: number;
}

export function tellEgress(env: Env, note: EgressNote): void {
  tell(env, { event: "egress", time: new Date().toISOString(), ...note });
}

type Line = Record<string, string | number | boolean | undefined>;

// Where a dataset of Analytics Engine is bound, each line is a point of it too, by these columns.
const BLOBS = [
  ...["event", "trace", "room", "execution", "caller", "status", "code"],
  ...["method", "route", "action", "mode", "signal", "host"],
];
const DOUBLES = ["ms", "exitCode", "bytes"];

function tell(env: Env & { AUDIT?: AnalyticsEngineDataset }, line: Line): void {
  console.log(JSON.stringify(line));
  env.AUDIT?.writeDataPoint({
    indexes: [`${line.room ?? ""}`],
    blobs: BLOBS.map((name) => `${line[name] ?? ""}`),
    doubles: DOUBLES.map((name) => Number(line[name] ?? Number.NaN)),
  });
}

const decoder = new TextDecoder();
const number = (text: string | undefined) => (text === undefined ? undefined : Number(text));
