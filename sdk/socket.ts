import { ConnectionError, RoomboxError } from "./errors.ts";
import type { Http } from "./http.ts";
import { pause } from "./time.ts";
import type { Abortable } from "./types.ts";

/** The class of WebSockets that a client uses: the platform's own, or one that is given. */
export type WebSocketClass = new (url: string, protocols?: string[]) => WebSocket;

/** What may be said in a header as a protocol (RFC 9110, 5.6.2: a token). */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Bytes that wait to be sent, at most, before a writer has to. */
const MAX_BUFFERED = 1 << 20;
const LOOK_MS = 5;

/** Makes a ticket for one WebSocket. */
export interface Tickets {
  ticket(options?: Abortable): Promise<{ ticket: string }>;
}

/** Opens a WebSocket to a path of the API, with the credential as browsers can send it, too. */
export class Sockets {
  readonly #http: Http;
  readonly #class: WebSocketClass | undefined;

  constructor(http: Http, given: WebSocketClass | undefined) {
    this.#http = http;
    this.#class = given ?? (globalThis as { WebSocket?: WebSocketClass }).WebSocket;
  }

  /** The class; throws where there is none, which is to be known before anything is started for a WebSocket to end. */
  check(): WebSocketClass {
    if (this.#class) return this.#class;
    throw new TypeError(
      "there is no WebSocket here: use Node 22, run Node 20 with --experimental-websocket, or give roombox() one",
    );
  }

  async open(
    path: string,
    query: Record<string, string | number | undefined>,
    tickets: Tickets,
    heard: Heard,
  ): Promise<Socket> {
    const WebSocketOf = this.check();
    const { token } = this.#http;
    const asProtocol = token !== undefined && TOKEN.test(token);
    const ticket = token !== undefined && !asProtocol ? (await tickets.ticket()).ticket : undefined;
    const url = this.#http.url(path, { ...query, ticket }).replace(/^http/, "ws");
    const socket = new Socket(
      new WebSocketOf(url, asProtocol ? ["roombox", `roombox.credential.${token}`] : []),
      heard,
    );
    await socket.opened;
    return socket;
  }
}

/** Told of each message. */
export type Heard = (message: ArrayBuffer | string) => void;

/** One WebSocket, from its opening to its close. */
export class Socket {
  readonly opened: Promise<void>;
  /** The code with which it closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #socket: WebSocket;

  constructor(socket: WebSocket, heard: Heard) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => heard(data));
    this.closed = new Promise((resolve) => {
      socket.addEventListener("close", ({ code, reason }) => resolve({ code, reason }));
    });
    this.opened = new Promise((resolve, reject) => {
      socket.addEventListener("open", () => resolve());
      const refused = () => reject(new ConnectionError("the WebSocket was refused, or broke"));
      socket.addEventListener("error", refused);
      socket.addEventListener("close", refused);
    });
  }

  /** Sends a message; settles when not much waits to be sent. A WebSocket has no event for that, so it is looked for. */
  async send(message: Uint8Array<ArrayBuffer> | string): Promise<void> {
    if (this.#socket.readyState !== 1) throw new ConnectionError("the WebSocket is closed");
    this.#socket.send(message);
    while (this.#waiting > MAX_BUFFERED && this.#socket.readyState === 1) await pause(LOOK_MS);
  }

  /** Bytes that are not sent yet; Workers do not tell. */
  get #waiting(): number {
    return (this.#socket as { bufferedAmount?: number }).bufferedAmount ?? 0;
  }

  close(): void {
    this.#socket.close();
  }
}

/** What a close code says is wrong with what the client did; none where it may come back. */
export function faultOf(code: number, reason: string): RoomboxError | undefined {
  if (code === 1003) return new RoomboxError(reason || "the server refused a message", "invalid_request");
  if (code === 1009) return new RoomboxError(reason || "a message was too large", "payload_too_large");
  return undefined;
}
