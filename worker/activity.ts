import { shardOf } from "./registry";

/** The registry and the storage may lag behind what happens in a room by so much. */
const LAG_MS = 10_000;

/** When a room was made and last used; sees to it that the registry knows of the room. */
export class Activity {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  #active = 0;
  #touched = 0;
  #open = 0;
  #uses = 0;
  #touching: Promise<unknown> = Promise.resolve();

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx;
    this.#env = env;
  }

  /** The sandbox's. Stored, as an object that its alarm woke may not be told. */
  get name(): string {
    const name = this.#ctx.id.name ?? this.#ctx.storage.kv.get<string>("name");
    if (name === undefined) throw new Error("objects of this class are found by name only");
    return name;
  }

  /** Unix milliseconds; undefined: there is no room. */
  get created(): number | undefined {
    return this.#ctx.storage.kv.get<number>("createdAt");
  }

  /** Unix milliseconds; after a restart of the object as good as it was stored. */
  get active(): number {
    return Math.max(this.#active, this.#ctx.storage.kv.get<number>("activeAt") ?? 0);
  }

  /** Since when nobody has used it, in Unix milliseconds; not told too early after a restart of the object. */
  get idleSince(): number {
    return this.#active || this.active + LAG_MS;
  }

  /** Calls that are being carried out. */
  get open(): number {
    return this.#open;
  }

  /** Grows with each use. */
  get uses(): number {
    return this.#uses;
  }

  /** Carries out a call: from its beginning to its end the room is in use. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#open++;
    this.note();
    try {
      return await call();
    } finally {
      this.#open--;
      this.note();
    }
  }

  /** Tells of a room that is to be made. Only what the registry knows of may come to be, or no list would ever show it. */
  async announce(): Promise<void> {
    await this.#registry.touch(this.name, Date.now());
  }

  /** Makes the room, unless it is there. */
  create(): void {
    if (this.created !== undefined) return;
    const now = Date.now();
    this.#ctx.storage.kv.put("name", this.name);
    this.#ctx.storage.kv.put("createdAt", now);
    this.#ctx.storage.kv.put("activeAt", now);
    this.#active = now;
    this.#touched = now;
  }

  /** It is in use; stored of a room that is there. */
  note(): void {
    this.#uses++;
    const now = Date.now();
    this.#active = now;
    if (this.created === undefined) return;
    if (now - this.#touched < LAG_MS) return;
    this.#touched = now;
    this.#ctx.storage.kv.put("activeAt", now);
    this.#touching = this.#registry.touch(this.name, now).catch((error: unknown) => this.#log(error));
  }

  /** Takes the room out of the registry, once its storage is empty. Lists leave out what a fault here lets stay in. */
  async forget(): Promise<void> {
    this.#active = 0;
    this.#touched = 0;
    await this.#touching; // or it would come after the removal
    await this.#registry.remove(this.name).catch((error: unknown) => this.#log(error));
  }

  #log(error: unknown): void {
    console.error(`${this.name}: the registry does not answer`, error);
  }

  get #registry() {
    return this.#env.REGISTRY.getByName(shardOf(this.name));
  }
}
