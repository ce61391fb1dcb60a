import type { Room } from "../../sdk/index.ts";
import { byId, make } from "./dom.ts";
import { reason } from "./format.ts";
import { listening, OWN_PORT } from "./listening.ts";
import { hasToken } from "./session.ts";

/** As the kernel lists sockets that listen, of both families. */
const LISTENING = "cat /proc/net/tcp /proc/net/tcp6";
const MAX_PORT = 65_535;
/** A server that was just begun is waited for. */
const WAIT_MS = 10_000;

/** Links to servers in the room. */
export class Ports {
  readonly #room: Room;
  readonly #list = byId("port-list");
  readonly #state = byId("ports-state");
  readonly #ports = new Set<number>();
  readonly #onLook: () => void;

  /** @param onLook told when a command has run to find the ports */
  constructor(room: Room, onLook: () => void) {
    this.#room = room;
    this.#onLook = onLook;
    byId("port-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const input = byId<HTMLInputElement>("port");
      this.#add(Number(input.value));
      input.value = "";
    });
    byId("find-ports").addEventListener("click", () => this.#find());
    byId("ports-note").hidden = !hasToken();
  }

  focus(): void {
    byId("port").focus();
  }

  #add(port: number): void {
    if (!Number.isInteger(port) || port < 1 || port > MAX_PORT || port === OWN_PORT) {
      this.#state.textContent = `A port is a number from 1 to ${MAX_PORT}, and not ${OWN_PORT}.`;
      return;
    }
    this.#ports.add(port);
    this.#state.textContent = "";
    this.#show();
  }

  /** Looks by a command what listens: nothing else tells, and it is in the history as any other. */
  async #find(): Promise<void> {
    this.#state.textContent = "Looking";
    try {
      const { stdout } = await this.#room.exec(LISTENING);
      const found = listening(stdout);
      for (const port of found) this.#ports.add(port);
      this.#state.textContent = found.length === 0 ? "Nothing listens." : "";
      this.#show();
    } catch (error) {
      this.#state.textContent = reason(error);
    }
    this.#onLook();
  }

  #show(): void {
    const ports = [...this.#ports].sort((a, b) => a - b);
    this.#list.replaceChildren(...ports.map((port) => make("li", {}, this.#link(port))));
  }

  /** A link brings no credential: where there is one, it is the address for a program of the reader's. */
  #link(port: number): HTMLElement {
    const url = this.#room.ports.url(port, "/", hasToken() ? {} : { waitMs: WAIT_MS });
    if (hasToken()) return make("code", {}, url);
    return make("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, `Open port ${port}`);
  }
}
