/** Codes of the API (docs/api.md, Errors), and two of this client: `connection` and `unexpected_answer`. */
export type ErrorCode =
  | "invalid_request"
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "method_not_allowed"
  | "conflict"
  | "gone"
  | "precondition_failed"
  | "range_not_satisfiable"
  | "payload_too_large"
  | "unsupported_media_type"
  | "url_too_long"
  | "headers_too_large"
  | "upgrade_required"
  | "too_many_requests"
  | "too_many_rooms"
  | "execution_failed"
  | "internal"
  | "bad_gateway"
  | "unavailable"
  | "connection"
  | "unexpected_answer";

/** Codes of answers that have no body to say it: those to HEAD. */
const CODE_OF_STATUS: Partial<Record<number, ErrorCode>> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "forbidden",
  404: "not_found",
  409: "conflict",
  410: "gone",
  412: "precondition_failed",
  416: "range_not_satisfiable",
  429: "too_many_requests",
  500: "internal",
  502: "bad_gateway",
  503: "unavailable",
};

export interface ErrorFields {
  status?: number;
  details?: Record<string, string[]> | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/** A call that came to nothing: `code` says why, `message` what to do about it. */
export class RoomboxError extends Error {
  override name = "RoomboxError";
  readonly code: ErrorCode;
  /** Of the answer; 0 where there was none. */
  readonly status: number;
  /** What is wrong, by field. */
  readonly details: Record<string, string[]> | undefined;
  /** By which the server's log knows the call. */
  readonly requestId: string | undefined;
  /** Seconds after which it may be tried again. */
  readonly retryAfter: number | undefined;

  constructor(message: string, code: ErrorCode, fields: ErrorFields = {}) {
    super(message, { cause: fields.cause });
    this.code = code;
    this.status = fields.status ?? 0;
    this.details = fields.details;
    this.requestId = fields.requestId;
    this.retryAfter = fields.retryAfter;
  }
}

/** There was no answer, or not the whole of it: what the call did is unknown. */
export class ConnectionError extends RoomboxError {
  override name = "ConnectionError";

  constructor(message: string, cause?: unknown) {
    super(message, "connection", { cause });
  }
}

/** An error as the API writes it. */
export interface ErrorBody {
  error: string;
  code: ErrorCode;
  details?: Record<string, string[]>;
}

export function isErrorBody(value: unknown): value is ErrorBody {
  return typeof value === "object" && value !== null && "error" in value && typeof value.error === "string";
}

/** The error of a body; its message has the details too, as they tell what to do. */
export function errorOf(body: ErrorBody, fields: ErrorFields = {}): RoomboxError {
  const faults = Object.entries(body.details ?? {}).flatMap(([name, all]) => all.map((each) => `${name}: ${each}`));
  const message = [body.error, ...faults].join("; ");
  return new RoomboxError(message, body.code ?? "unexpected_answer", { ...fields, details: body.details });
}

/** The error that a response is; reads its body. */
export async function errorFrom(response: Response): Promise<RoomboxError> {
  const text = await response.text();
  const after = response.headers.get("retry-after");
  const fields = {
    status: response.status,
    requestId: response.headers.get("x-request-id") ?? undefined,
    retryAfter: after !== null && /^\d+$/.test(after) ? Number(after) : undefined,
  };
  const body = parsed(text);
  if (isErrorBody(body)) return errorOf(body, fields);
  const known = text === "" ? CODE_OF_STATUS[response.status] : undefined;
  const from = `${response.status} ${response.statusText}`.trim();
  if (known) return new RoomboxError(`${known.replaceAll("_", " ")} (${from})`, known, fields);
  return new RoomboxError(`expected an answer of Roombox, got ${from}: is the URL right?`, "unexpected_answer", fields);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
