/** How long a ticket holds. */
const LIFETIME_MS = 60_000;
const PREFIX = "ticket:";

/** What one is good for, and the name of the caller that asked for it. */
export type Grant = { scopes: string; maker: string };
type Ticket = Grant & { expires: number };

/** Tickets of one room: each lets in once, whoever brings it, as browsers cannot send headers with a WebSocket. */
export class Tickets {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /** Makes one; its secret, and when it expires, in Unix milliseconds. */
  make(grant: Grant): [secret: string, expires: number] {
    const now = Date.now();
    for (const [key, { expires }] of this.#storage.kv.list<Ticket>({ prefix: PREFIX })) {
      if (expires <= now) this.#storage.kv.delete(key);
    }
    const secret = crypto.getRandomValues(new Uint8Array(16)).toHex();
    this.#storage.kv.put(PREFIX + secret, { ...grant, expires: now + LIFETIME_MS });
    return [secret, now + LIFETIME_MS];
  }

  /** What one that holds is good for, which does not any more. */
  redeem(secret: string): Grant | undefined {
    const ticket = this.#storage.kv.get<Ticket>(PREFIX + secret);
    if (!ticket) return undefined;
    this.#storage.kv.delete(PREFIX + secret);
    return ticket.expires > Date.now() ? ticket : undefined;
  }
}
