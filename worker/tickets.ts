/** How long a ticket holds. */
const LIFETIME_MS = 60_000;
/** So many wait to be brought, at most. */
export const MAX_TICKETS = 1000;
const PREFIX = "ticket:";

/** What one is good for, and the name of the caller that asked for it. */
export type Grant = { scopes: string; maker: string };
type Ticket = Grant & { expires: number };

/** Tickets of one room: each lets in once, whoever brings it, as browsers cannot send headers with a WebSocket. */
export class Tickets {
  readonly #storage: DurableObjectStorage;
  /** When to prune next, in Unix milliseconds: no later than a ticket holds after the end of any. */
  #due: number | undefined;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    this.#due = this.#anyEnd();
  }

  get due(): number | undefined {
    return this.#due;
  }

  /** Makes one; its secret, and when it expires, in Unix milliseconds. Undefined: too many wait. */
  make(grant: Grant): [secret: string, expires: number] | undefined {
    if (this.prune() >= MAX_TICKETS) return undefined;
    const expires = Date.now() + LIFETIME_MS;
    const secret = crypto.getRandomValues(new Uint8Array(16)).toHex();
    this.#storage.kv.put(PREFIX + secret, { ...grant, expires });
    this.#due ??= expires;
    return [secret, expires];
  }

  /** What one that holds is good for, which does not any more. */
  redeem(secret: string): Grant | undefined {
    const ticket = this.#storage.kv.get<Ticket>(PREFIX + secret);
    if (!ticket) return undefined;
    this.#storage.kv.delete(PREFIX + secret);
    return ticket.expires > Date.now() ? ticket : undefined;
  }

  /** Forgets those that have expired; how many are left. */
  prune(): number {
    const tickets = [...this.#storage.kv.list<Ticket>({ prefix: PREFIX })];
    const expired = tickets.filter(([, { expires }]) => expires <= Date.now());
    for (const [key] of expired) this.#storage.kv.delete(key);
    this.#due = this.#anyEnd();
    return tickets.length - expired.length;
  }

  #anyEnd(): number | undefined {
    for (const [, { expires }] of this.#storage.kv.list<Ticket>({ prefix: PREFIX, limit: 1 })) return expires;
    return undefined;
  }
}
