/** The name of the key that vouches for a caller, of the caller's own (Caller.name). */
const keyOf = (caller: string) => caller.split(";", 1)[0] ?? "";
/** Without credentials there are no keys to count by. */
const OPEN = "open";

/** A place among a key's rooms, and for which: an object that its alarm woke may not be told its name. */
type Place = { key: string; room: string };

/**
 * Whose a room is, where it is counted how many each key has. Its place among the key's rooms is noted here before it is asked
 * for, so that none is lost, whatever ends the object.
 */
export class Ownership {
  readonly #storage: DurableObjectStorage;
  readonly #env: Env;
  readonly #most: number;
  readonly #onPlace: () => void;
  /** The last of what is done about the place, one after another. */
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param most rooms that a key may have; 0: they are not counted
   * @param onPlace called once a place is noted, before it is asked for
   */
  constructor(storage: DurableObjectStorage, env: Env, most: number, onPlace: () => void) {
    this.#onPlace = onPlace;
    this.#storage = storage;
    this.#env = env;
    this.#most = most;
  }

  /** Whether a place may be taken, so that it is to be given back. */
  get isHeld(): boolean {
    return this.#place !== undefined;
  }

  /** Takes a place for a room that is to be made, or says that there is none. */
  claim(room: string, caller: string): Promise<boolean> {
    return this.#inTurn(() => this.#take({ key: keyOf(caller), room }));
  }

  /** Gives it back, if there is one. */
  release(): Promise<void> {
    return this.#inTurn(() => this.#giveBack());
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  async #take(place: Place): Promise<boolean> {
    if (this.#most === 0 || place.key === OPEN) return true;
    if (this.#place?.key !== place.key) await this.#giveBack(); // what an earlier start has left
    this.#storage.kv.put("place", place);
    this.#onPlace();
    const taken = await this.#registry(place.key).claim(place.room, this.#most);
    if (!taken) this.#storage.kv.delete("place");
    return taken;
  }

  async #giveBack(): Promise<void> {
    const place = this.#place;
    if (!place) return;
    await this.#registry(place.key).release(place.room);
    this.#storage.kv.delete("place");
  }

  get #place(): Place | undefined {
    return this.#storage.kv.get<Place>("place");
  }

  #registry(key: string) {
    return this.#env.REGISTRY.getByName(`owner-${key}`);
  }
}
