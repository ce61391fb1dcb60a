import type { Person, Presence, People as Present, Room } from "../../sdk/index.ts";
import { uniqueText } from "../../sdk/unique.ts";
import { byId, make } from "./dom.ts";
import { reason } from "./format.ts";
import { notify } from "./notices.ts";

const NAME = "roombox-name";
const SHOWN = 5;
const encoder = new TextEncoder();

/** Who is here, told by the room's object. Owns the reader's own name. */
export class People {
  readonly #room: Room;
  readonly #list = byId("people");
  readonly #name = byId<HTMLInputElement>("name");
  readonly #onChange: (present: Present | undefined) => void;
  #presence: Presence | undefined;
  #state: string | undefined;
  #known: Map<string, string> | undefined;

  /** @param onChange told who is here, who spoke last first; of undefined where that cannot be known */
  constructor(room: Room, onChange: (present: Present | undefined) => void) {
    this.#room = room;
    this.#onChange = onChange;
    this.#name.value = shortened(localStorage.getItem(NAME) ?? "") || `guest-${uniqueText().slice(0, 4)}`;
    localStorage.setItem(NAME, this.#name.value);
    this.#name.addEventListener("change", () => this.#rename());
    byId("name-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#name.blur();
    });
  }

  /** Comes in, under the name that is set. */
  join(): void {
    this.#presence?.close();
    const presence = this.#room.presence({ name: this.#name.value });
    this.#presence = presence;
    if (this.#state !== undefined) presence.say(this.#state);
    this.#listen(presence);
  }

  /** The same, unless this page is in already. */
  comeBack(): void {
    if (!this.#presence) this.join();
  }

  /** Tells the others something of this page. */
  say(state: string): void {
    this.#state = state;
    this.#presence?.say(state);
  }

  async #listen(presence: Presence): Promise<void> {
    try {
      for await (const present of presence) {
        if (presence !== this.#presence) return;
        this.#show(present);
        this.#onChange(present);
      }
    } catch (error) {
      if (presence !== this.#presence) return;
      this.#presence = undefined;
      this.#known = undefined;
      this.#list.replaceChildren();
      byId("alone").hidden = true;
      this.#onChange(undefined);
      notify(`Who is here is not known: ${reason(error)}`);
    }
  }

  #rename(): void {
    const name = shortened(this.#name.value.trim()) || (localStorage.getItem(NAME) ?? "guest");
    this.#name.value = name;
    localStorage.setItem(NAME, name);
    this.join();
  }

  #show({ you, people }: Present): void {
    const others = people.filter(({ id }) => id !== you).sort((a, b) => a.name.localeCompare(b.name));
    const more = others.length - SHOWN;
    this.#list.replaceChildren(...others.slice(0, SHOWN).map(badge));
    if (more > 0) this.#list.append(make("li", { class: "more" }, `+${more}`));
    byId("alone").hidden = others.length > 0;
    this.#announce(others);
  }

  #announce(others: Person[]): void {
    const now = new Map(others.map(({ id, name }) => [id, name]));
    const before = this.#known ?? now;
    this.#known = now;
    const came = [...now].filter(([id]) => !before.has(id)).map(([, name]) => `${name} came in.`);
    const left = [...before].filter(([id]) => !now.has(id)).map(([, name]) => `${name} left.`);
    if (came.length + left.length > 0) byId("people-news").textContent = [...came, ...left].join(" ");
  }
}

function badge({ name }: Person): HTMLElement {
  const initials = [...name.trim()].slice(0, 2).join("");
  const hue = `hue-${[...name].reduce((sum, char) => (sum * 31 + (char.codePointAt(0) ?? 0)) % 6, 0)}`;
  return make(
    "li",
    { title: name },
    make("span", { class: `initials ${hue}`, "aria-hidden": "true" }, initials),
    make("bdi", {}, name),
  );
}

/** As much of a name as the server takes: 64 bytes. */
function shortened(name: string): string {
  const visible = name.replace(/\p{Cc}/gu, "");
  const chars = [...visible];
  while (encoder.encode(chars.join("")).byteLength > 64) chars.pop();
  return chars.join("");
}
