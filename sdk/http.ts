import { ConnectionError, errorFrom, RoomboxError } from "./errors.ts";
import { backoff, pause } from "./time.ts";

/** One call of the API. */
export interface Call {
  method: string;
  /** From the root, percent-encoded. */
  path: string;
  query?: Record<string, string | number | boolean | undefined> | undefined;
  headers?: Record<string, string> | undefined;
  body?: BodyInit | undefined;
  signal?: AbortSignal | undefined;
  /** Carrying it out twice is as good as once. Of GET, HEAD, DELETE and PUT if absent. */
  repeatable?: boolean | undefined;
}

export interface HttpOptions {
  url: string;
  token?: string | undefined;
  fetch?: typeof globalThis.fetch | undefined;
  retries?: number | undefined;
}

const REPEATABLE = ["GET", "HEAD", "DELETE", "PUT"];
const RETRIES = 4;
/** A server that asks for more patience than this, in all, is not waited for. */
const PATIENCE_MS = 30_000;

/** Calls the API with the credential, again where that is safe; what is no success is thrown. */
export class Http {
  readonly origin: string;
  readonly token: string | undefined;
  /** How often a call is tried again. */
  readonly retries: number;
  /** That of the platform, or the one that was given. */
  readonly fetch: typeof globalThis.fetch;

  constructor({ url, token, fetch = globalThis.fetch, retries = RETRIES }: HttpOptions) {
    const { protocol, origin, pathname } = new URL(url);
    if (!/^https?:$/.test(protocol)) throw new TypeError(`url: expected http:// or https://, received ${url}`);
    this.origin = origin + pathname.replace(/\/+$/, "");
    this.token = token;
    this.retries = retries;
    this.fetch = (input, init) => fetch(input, init); // browsers want it called as a function of their own
  }

  url(path: string, query: Call["query"] = {}): string {
    const url = new URL(this.origin + path);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, `${value}`);
    }
    return url.href;
  }

  /** The headers that a call of one's own to this server needs. */
  headers(): Record<string, string> {
    return this.token === undefined ? {} : { authorization: `Bearer ${this.token}` };
  }

  /** @param read takes the answer's body; if that breaks off it is as if there had been no answer */
  async send<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const patience = Date.now() + PATIENCE_MS;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#try(call, read);
      } catch (error) {
        call.signal?.throwIfAborted();
        if (attempt > this.retries || !mayRepeat(call, error)) throw error;
        const asked = error.retryAfter === undefined ? backoff(attempt) : error.retryAfter * 1000;
        if (Date.now() + asked > patience) throw error;
        await pause(asked, call.signal);
      }
    }
  }

  json<T>(call: Call): Promise<T> {
    return this.send(call, (response) => response.json());
  }

  /** Posts a body of JSON. */
  post<T>(path: string, body: unknown, call: Partial<Call> = {}): Promise<T> {
    return this.json({ ...jsonCall(path, body), ...call });
  }

  async #try<T>(call: Call, read: (response: Response) => Promise<T>): Promise<T> {
    const { method, body, signal } = call;
    const url = this.url(call.path, call.query);
    const headers = new Headers({ ...this.headers(), ...call.headers });
    const init = { method, headers, ...(body !== undefined && { body }), ...(signal && { signal }) };
    const streamed = body instanceof ReadableStream && { duplex: "half" };
    try {
      const response = await this.fetch(url, { ...init, ...streamed } as RequestInit);
      if (response.ok) return await read(response);
      throw await errorFrom(response);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RoomboxError) throw error;
      throw new ConnectionError(`the connection to ${this.origin} failed: ${reasonOf(error)}`, error);
    }
  }
}

export function jsonCall(path: string, body: unknown): Call {
  return { method: "POST", path, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

/** A call of which nothing was done may be repeated, any other only if that is as good as once. */
function mayRepeat(call: Call, error: unknown): error is RoomboxError {
  if (!(error instanceof RoomboxError) || call.body instanceof ReadableStream) return false;
  if (error.status === 429) return true;
  if (!(call.repeatable ?? REPEATABLE.includes(call.method))) return false;
  return error.status === 503 || error instanceof ConnectionError;
}

/** What fetch hides: its error is "fetch failed", the reason is the cause's. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return `${error}`;
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ("code" in cause ? `${cause.code}` : error.message);
}
