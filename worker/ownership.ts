/** The name of the key that vouches for a caller, of the caller's own (Caller.name). */
const keyOf = (caller: string) => caller.split(";", 1)[0] ?? "";
/** Without credentials there are no keys to count by. */
const OPEN = "open";

/**
 * Whose a room is, where it is counted how many each key has. Its place among the key's rooms is noted here before it is asked
 * for, so that none is lost, whatever ends the object.
 */
export class Ownership {
  readonly #storage: DurableObjectStorage;
  readonly #env: Env;
  readonly #most: number;
  #claim: Promise<unknown> = Promise.resolve();

  /** @param most rooms that a key may have; 0: they are not counted */
  constructor(storage: DurableObjectStorage, env: Env, most: number) {
    this.#storage = storage;
    this.#env = env;
    this.#most = most;
  }

  /** Whether a place may be taken, so that it is to be given back. */
  get isHeld(): boolean {
    return this.#key !== undefined;
  }

  /** Takes a place for a room that is to be made, or says that there is none. */
  claim(room: string, caller: string): Promise<boolean> {
    const claim = this.#take(room, keyOf(caller));
    this.#claim = claim.catch(() => undefined);
    return claim;
  }

  /** Gives it back, if there is one. */
  async release(room: string): Promise<void> {
    await this.#claim;
    if (this.#key === undefined) return;
    await this.#registry(this.#key).release(room);
    this.#storage.kv.delete("owner");
  }

  async #take(room: string, key: string): Promise<boolean> {
    if (this.#most === 0 || key === OPEN) return true;
    if (this.#key !== undefined && this.#key !== key) await this.#registry(this.#key).release(room);
    this.#storage.kv.put("owner", key);
    const taken = await this.#registry(key).claim(room, this.#most);
    if (!taken) this.#storage.kv.delete("owner");
    return taken;
  }

  get #key(): string | undefined {
    return this.#storage.kv.get<string>("owner");
  }

  #registry(key: string) {
    return this.#env.REGISTRY.getByName(`owner-${key}`);
  }
}
