import { outcomeReply } from "./outcome";

/** The worker's call for a WebSocket of this: its query has `name`, and the bounds `most` and `state`. */
const PATH = "/presence";
/** How a socket closes whose room was deleted, and one that says what it may not. */
const DELETED = 4410;
const NOT_TEXT = 1003;
const TOO_LARGE = 1009;
/** Others are told of changes no more often than that, however many come; less often where many are told of many. */
const PAUSE_MS = 50;
const PAUSE_FOR_EACH_MS = 4;
const OPEN = 1;

const encoder = new TextEncoder();

/** Who a socket is of: the platform keeps it with the socket. */
interface Person {
  id: string;
  name: string;
  /** What the client tells the others of itself; nobody else reads it. */
  state: string;
  /** Bytes that it may have. */
  stateLimit: number;
  /** Grows with each word of anybody's, from 0 of who has said nothing. */
  spoke: number;
  /** When it came, in Unix milliseconds. */
  since: number;
}

/**
 * Who is in a room: a WebSocket of each, which the platform holds while the object is put away. Knows of no container, and nobody
 * who is here makes the room be in use.
 */
export class Presence {
  readonly #ctx: DurableObjectState;
  #telling: Promise<void> | undefined;
  /** Of the last word; not known when the object was put away since. */
  #spoke: number | undefined;

  constructor(ctx: DurableObjectState) {
    this.#ctx = ctx;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong")); // what keeps a line up wakes nobody
  }

  isFor(request: Request): boolean {
    return new URL(request.url).pathname === PATH;
  }

  /** Takes one more in, and tells all. */
  join(request: Request): Response {
    const { searchParams: asked } = new URL(request.url);
    if (this.#sockets().length >= Number(asked.get("most"))) return outcomeReply("too_many_present");
    const { 0: client, 1: server } = new WebSocketPair();
    this.#ctx.acceptWebSocket(server);
    const id = crypto.getRandomValues(new Uint8Array(8)).toHex();
    const name = asked.get("name") ?? "";
    this.#keep(server, { id, name, state: "", stateLimit: Number(asked.get("state")), spoke: 0, since: Date.now() });
    this.#tell();
    return new Response(null, { status: 101, webSocket: client });
  }

  /** A client's word: its state from now on, which puts it before all others. */
  hear(socket: WebSocket, message: string | ArrayBuffer): void {
    const person = personOf(socket);
    const isText = typeof message === "string";
    if (!isText || encoder.encode(message).byteLength > person.stateLimit) {
      socket.close(isText ? TOO_LARGE : NOT_TEXT);
      return;
    }
    // Not read from all sockets with each word: who sends many must cost the room little.
    this.#spoke = 1 + (this.#spoke ?? Math.max(0, ...this.#sockets().map((each) => personOf(each).spoke)));
    this.#keep(socket, { ...person, state: message, spoke: this.#spoke });
    this.#tell();
  }

  /** One has left, or its line has broken. */
  leave(socket: WebSocket): void {
    socket.close(); // or the platform would go on counting it
    this.#tell();
  }

  /** The room is no more. */
  end(): void {
    for (const socket of this.#sockets()) socket.close(DELETED);
  }

  /** Tells everybody who is there, soon. */
  #tell(): void {
    this.#telling ??= scheduler.wait(PAUSE_MS + this.#sockets().length * PAUSE_FOR_EACH_MS).then(() => {
      this.#telling = undefined;
      const sockets = this.#sockets();
      const people = sockets.map(personOf).sort((a, b) => b.spoke - a.spoke || a.since - b.since);
      const told = JSON.stringify(people.map(({ id, name, state }) => ({ id, name, state })));
      for (const socket of sockets) socket.send(`{"type":"people","you":"${personOf(socket).id}","people":${told}}`);
    });
  }

  #sockets(): WebSocket[] {
    return this.#ctx.getWebSockets().filter(({ readyState }) => readyState === OPEN);
  }

  #keep(socket: WebSocket, person: Person): void {
    socket.serializeAttachment(person);
  }
}

const personOf = (socket: WebSocket): Person => socket.deserializeAttachment();
