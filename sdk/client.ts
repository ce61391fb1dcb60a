import { Http } from "./http.ts";
import { type PageOptions, pages } from "./pages.ts";
import { Room } from "./room.ts";
import { Sockets, type WebSocketClass } from "./socket.ts";
import type { RoomInfo } from "./types.ts";

export interface RoomboxOptions {
  /** Where Roombox is, such as `https://roombox.example`. */
  url: string;
  /** An API key or a room token. */
  token?: string | undefined;
  /** How often a call is tried again where that is safe; 4 if absent. */
  retries?: number | undefined;
  /** Instead of the platform's own. */
  fetch?: typeof globalThis.fetch | undefined;
  WebSocket?: WebSocketClass | undefined;
}

/** A Roombox, with the credential of a caller. It holds nothing open. */
export class Roombox {
  readonly #http: Http;
  readonly #sockets: Sockets;

  constructor(options: RoomboxOptions) {
    this.#http = new Http(options);
    this.#sockets = new Sockets(this.#http, options.WebSocket);
  }

  /** A room by its id; it need not be there yet. */
  room(id: string): Room {
    return new Room(this.#http, this.#sockets, id);
  }

  /** The rooms, last active first: needs an API key. */
  rooms(options: PageOptions = {}): AsyncGenerator<RoomInfo, void> {
    return pages(this.#http, "/api/rooms", "rooms", options);
  }
}

export function roombox(options: RoomboxOptions): Roombox {
  return new Roombox(options);
}
