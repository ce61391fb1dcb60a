import type { WebSocketClass } from "../../sdk/index";

// A socket whose other end is the test: what a real one does is tested against the real server.

export const LOG = Buffer.from("the output of a command: é😀\n\0\xff", "latin1");

/** What the other end does once a socket is open. */
export type Script = (socket: FakeSocket) => void;

export class FakeSocket extends EventTarget {
  readonly url: URL;
  readonly protocols: string[];
  readonly sent: (string | Uint8Array)[] = [];
  readyState = 0;
  bufferedAmount = 0;
  binaryType = "blob";

  constructor(url: string, protocols: string[], script: Script) {
    super();
    this.url = new URL(url);
    this.protocols = protocols;
    queueMicrotask(() => script(this));
  }

  open(): this {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
    return this;
  }

  say(message: object | number[] | string): this {
    const data = Array.isArray(message)
      ? Uint8Array.from(message).buffer
      : typeof message === "string"
        ? message
        : JSON.stringify(message);
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
    return this;
  }

  send(message: string | Uint8Array): void {
    this.sent.push(message);
  }

  close(code = 1005, reason = ""): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }
}

/** Sockets that go by these scripts; the last of them for all that come later. */
export function sockets(...scripts: Script[]): { made: FakeSocket[]; WebSocket: WebSocketClass } {
  const made: FakeSocket[] = [];
  const make = class extends FakeSocket {
    constructor(url: string, protocols: string[] = []) {
      super(url, protocols, (self) => scripts[Math.min(made.length, scripts.length) - 1]?.(self));
      made.push(this);
    }
  };
  return { made, WebSocket: make as unknown as WebSocketClass };
}

/** Says what comes after `?after=` of LOG, up to a place, each byte a message of its own. */
export const tell =
  (upTo: number, then: Script): Script =>
  (socket) => {
    const after = Number(socket.url.searchParams.get("after") ?? 1);
    socket.open().say({ type: "start", id: "exec_1", sandboxName: "sandbox-r", sequence: after });
    for (const byte of LOG.subarray(after - 1, upTo)) socket.say([1 + (byte % 2), byte]);
    socket.say([4]);
    then(socket);
  };
export const exit: Script = (socket) => socket.say([3, 0, 0, 0, 7]).close(1000);
export const breaks: Script = (socket) => socket.close(1006);
export const stays: Script = () => {};
