import edgeModule from "../build/wasi/wasm/edge.wasm";
import { type Bytes, concat } from "./bytes";
import { readFields } from "./fields";
import type { Outcome } from "./outcome";

/** What the core decided about a request: `Decision` of wasm/edge.h; and what it is about, for the log. */
export type Decision = ((Answer | Forward | Ask | Page) & { note: Note }) | ReadBody;

/** The core decides again when it has the body. */
interface ReadBody {
  action: "readBody";
  limit: number;
}

/** What is undefined is not known, or is none. */
export interface Note {
  /** The pattern of the API's call. */
  route: string | undefined;
  room: string | undefined;
  execution: string | undefined;
  /** Of the error that is answered. */
  code: string | undefined;
}

export interface Answer {
  action: "answer";
  response: Response;
}

/** A call for the sandbox's agent. */
export interface Forward {
  action: "forward";
  sandbox: string;
  method: string;
  path: string;
  headers: [string, string][];
  /** The caller's headers go along, and its body as it is: they are for a server of the sandbox. */
  isTransparent: boolean;
  /** What the reply gets beside its own. */
  replyHeaders: [string, string][];
  /** What is known of the record of a new execution; empty for a call about one that exists. */
  seed: Bytes;
}

/** A question for an object, whose outcome the core words. */
export interface Ask {
  action: "ask";
  operation: string;
  /** Empty where it is not for one sandbox. */
  sandbox: string;
  arguments: Map<string, string>;
  fields: Bytes;
}

/** A static file that is the answer. */
export interface Page {
  action: "page";
  file: string;
}

/** The functions that wasm/abi.cpp exports; it documents their contract. */
export interface EdgeExports {
  memory: WebAssembly.Memory;
  edge_input(size: number): number;
  edge_decide(headLength: number, bodyLength: number): number;
  edge_outcome(headLength: number, outcomeLength: number): number;
}

/** Instantiates the module; its imports are none. */
export function instantiate(): EdgeExports {
  const exports = new WebAssembly.Instance(edgeModule, {}).exports as unknown as EdgeExports & {
    _initialize?: () => void;
  };
  exports._initialize?.();
  return exports;
}

/** Memory of an instance never shrinks: one that a large body made grow beyond this is not used again. */
const KEEP_BELOW_BYTES = 24 << 20;

const NO_BODY = -1;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The headers that the core decides by. */
export const HEAD_FIELDS = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "idempotency-key",
  "last-event-id",
  "upgrade",
  "range",
  "if-range",
  "if-match",
  "if-none-match",
  "origin",
  "access-control-request-method",
  "access-control-request-headers",
]);
/** Bytes of a header beside its name and value. */
const HEADER_EXTRA = ": \r\n".length;

/** What the host knows of a request that its own headers do not say. */
export interface Knowledge {
  /** Whom it is from: `Request::caller` of wasm/edge.h. */
  caller: string;
  /** Other origins whose pages are served, with blanks between them. */
  origins: string;
  /** How many rooms a key may have. */
  maxRooms: string;
}

/** The head of a request as the core reads it: the request line, what the host knows, then the headers that decide something. */
export function headOf(request: Request, { caller, origins, maxRooms }: Knowledge): string {
  let lines = "";
  let bytes = 0;
  request.headers.forEach((value, name) => {
    bytes += name.length + value.length + HEADER_EXTRA;
    if (HEAD_FIELDS.has(name)) lines += `${name}:${value}\n`;
  });
  const ours = `roombox-caller:${caller}\nroombox-origins:${origins}\nroombox-max-rooms:${maxRooms}\n`;
  return `${request.method} ${request.url}\n${ours}roombox-header-bytes:${bytes}\n${lines}`;
}

/** The edge core: one instance at a time, replaced after a trap. */
export class EdgeCore {
  #exports: EdgeExports | undefined;
  readonly #instantiate: () => EdgeExports;

  constructor(make: () => EdgeExports = instantiate) {
    this.#instantiate = make;
  }

  /** Throws what the module traps with; the next call gets a fresh instance. */
  decide(head: string, body?: Uint8Array): Decision {
    return this.#call(head, body, (core, headLength) => core.edge_decide(headLength, body ? body.byteLength : NO_BODY));
  }

  /** The answer to a request of which this became. Throws as `decide` does. */
  outcome(head: string, { name, fields }: Outcome): Answer & { note: Note } {
    const line = encoder.encode(`${name}\n`);
    const outcome = fields ? concat(line, fields) : line;
    const decision = this.#call(head, outcome, (core, headLength) => core.edge_outcome(headLength, outcome.byteLength));
    if (decision.action !== "answer") throw new Error(`the core does not answer the outcome ${name}`);
    return decision;
  }

  #call(head: string, tail: Uint8Array | undefined, call: (core: EdgeExports, headLength: number) => number) {
    this.#exports ??= this.#instantiate();
    const core = this.#exports;
    try {
      const size = head.length * 3 + (tail?.byteLength ?? 0); // a UTF-16 unit has at most 3 bytes of UTF-8
      const at = core.edge_input(size);
      if (at === 0) throw new Error("the core has no memory for a request of this size");
      const input = new Uint8Array(core.memory.buffer, at, size);
      const { written } = encoder.encodeInto(head, input);
      if (tail) input.set(tail, written);
      const result = call(core, written);
      const { buffer } = core.memory; // anew: the call may have made it grow
      if (buffer.byteLength > KEEP_BELOW_BYTES) this.#exports = undefined;
      return readDecision(buffer, result);
    } catch (trap) {
      this.#exports = undefined;
      throw trap;
    }
  }
}

/** Copies a decision out of the core's memory, where it stays only until the next call. */
function readDecision(memory: ArrayBuffer, at: number): Decision {
  const words = new Uint32Array(memory, at, 8);
  const [action, number = 0, , headLength = 0, bodyAt = 0, bodyLength = 0, noteAt = 0, noteLength = 0] = words;
  if (action === 1) return { action: "readBody", limit: number };
  // Each decoding is a call out of V8: the note is directly before the head, and ASCII.
  const text = decoder.decode(new Uint8Array(memory, noteAt, noteLength + headLength));
  const note = readNote(text.slice(0, noteLength));
  const head = text.slice(noteLength);
  const body = new Uint8Array(memory, bodyAt, bodyLength);
  switch (action) {
    case 0:
      return { action: "answer", response: readAnswer(number, head, body), note };
    case 2: {
      const [call = "", reply = ""] = head.split("\n\n");
      const [sandbox = "", requestLine = "", ...headers] = call.split("\n");
      const [method = "", path = ""] = requestLine.split(" ");
      const seed = new Uint8Array(body); // a copy
      const ours = headers.filter(Boolean).map(splitHeader);
      const replyHeaders = reply === "" ? [] : reply.split("\n").filter(Boolean).map(splitHeader);
      return {
        action: "forward",
        sandbox,
        method,
        path,
        headers: ours,
        isTransparent: number === 1,
        replyHeaders,
        seed,
        note,
      };
    }
    case 3: {
      const [operation = "", sandbox = "", ...lines] = head.split("\n");
      const named = new Map(lines.filter(Boolean).map(splitHeader));
      return { action: "ask", operation, sandbox, arguments: named, fields: new Uint8Array(body), note };
    }
    case 4:
      return { action: "page", file: head.trimEnd(), note };
    default:
      throw new Error(`the core decided on an unknown action ${action}`);
  }
}

function readNote(lines: string): Note {
  const [route, room, execution, code] = lines.split("\n").map((line) => line || undefined);
  return { route, room, execution, code };
}

/** Some statuses may have no body, not even an empty one. */
function readAnswer(status: number, head: string, body: Uint8Array): Response {
  if (status === 101) return new Response(null, { status, webSocket: socketThatSays(body) });
  return new Response(body.byteLength > 0 ? decoder.decode(body) : null, { status, headers: answerHeaders(head) });
}

/** The client's end of a socket on which all is said at once: the fields are its messages and its close. */
function socketThatSays(fields: Uint8Array): WebSocket {
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  for (const [kind, value] of readFields(fields)) {
    if (kind === "binary") server.send(value);
    if (kind === "text") server.send(decoder.decode(value));
    if (kind !== "close") continue;
    const [, code, reason] = /^(\d+) (.*)$/s.exec(decoder.decode(value)) ?? [];
    server.close(Number(code), reason);
  }
  return client;
}

/** The heads of most answers are a handful, from the core's tables; a Response takes made Headers at half the price. */
const headersOf = new Map<string, Headers>();
/** Others have what a caller sent: they are not kept, or callers would fill the memory. */
const KEPT_HEADS = 64;
const KEPT_HEAD_LENGTH = 256;

function answerHeaders(head: string): Headers {
  const kept = headersOf.get(head);
  if (kept) return kept;
  const headers = new Headers(head.split("\n").filter(Boolean).map(splitHeader));
  if (head.length <= KEPT_HEAD_LENGTH && headersOf.size < KEPT_HEADS) headersOf.set(head, headers);
  return headers;
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1)];
}
