// Which calls belong together, over all hops: W3C Trace Context (https://www.w3.org/TR/trace-context/). A caller's trace is
// gone on with, one without any begins one.

export const TRACE_HEADER = "traceparent";
/** What other tracers put beside it, which is of no trace but that one. */
const STATE_HEADER = "tracestate";
/** On every answer: the trace's id, to be found in the log by. */
export const REQUEST_ID_HEADER = "X-Request-Id";

/** Versions to come may have more behind; what is known of them is the same. */
const FORMAT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;
/** Flags that are passed on: sampled. */
const KNOWN_FLAGS = 1;

/** One request's part in a trace. */
export interface Trace {
  /** 32 hexadecimal digits. */
  id: string;
  /** Two, as they are passed on. */
  flags: string;
  /** Whether a caller began it. */
  isContinued: boolean;
}

export function traceOf(headers: Headers): Trace {
  const [, version, id, flags = "", more] = FORMAT.exec(headers.get(TRACE_HEADER) ?? "") ?? [];
  if (id === undefined || (version === "00" && more !== undefined)) {
    return { id: random(16), flags: "01", isContinued: false };
  }
  const known = Number.parseInt(flags, 16) & KNOWN_FLAGS;
  return { id, flags: `0${known}`, isContinued: true };
}

/** What the next hop is told: the same trace, from a part of it that is this hop's own. */
export const traceparent = ({ id, flags }: Trace) => `00-${id}-${random(8)}-${flags}`;

/** Has headers for the next hop say so. */
export function passOn(headers: Headers, trace: Trace): void {
  headers.set(TRACE_HEADER, traceparent(trace));
  if (!trace.isContinued) headers.delete(STATE_HEADER);
}

/** The id of the trace that a request of an earlier hop of ours belongs to. */
export const traceIdOf = (headers: Headers) => headers.get(TRACE_HEADER)?.split("-")[1];

/** Random hexadecimal digits: to draw many at once costs what it costs to draw a few. */
let drawn = "";
const DRAWN_BYTES = 4096;
let used = 0;

function random(bytes: number): string {
  if (used + bytes * 2 > drawn.length) {
    drawn = crypto.getRandomValues(new Uint8Array(DRAWN_BYTES)).toHex();
    used = 0;
  }
  used += bytes * 2;
  return drawn.slice(used - bytes * 2, used);
}
