/** What is put in is taken out in order, by one at a time, who waits while there is nothing. */
export class Queue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  #taken = 0;
  #end: { error: unknown } | "whole" | undefined;
  #wake: () => void = () => {};

  put(item: T): void {
    this.#items.push(item);
    this.#wake();
  }

  /** Nothing comes any more; with an error, who takes gets that behind all that is there. The first end counts. */
  end(error?: unknown): void {
    this.#end ??= error === undefined ? "whole" : { error };
    this.#wake();
  }

  /** Who leaves the iteration may begin another, which goes on with what comes next. */
  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return { next: () => this.#next() };
  }

  async #next(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const item = this.#items[this.#taken];
      if (item !== undefined) {
        this.#forget();
        return { done: false, value: item };
      }
      if (this.#end === "whole") return { done: true, value: undefined };
      if (this.#end) throw this.#end.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** An array gives its first item away in time that grows with it, so many are given away at once. */
  #forget(): void {
    this.#items[this.#taken++] = undefined as T;
    if (this.#taken < 1024 && this.#taken < this.#items.length) return;
    this.#items.splice(0, this.#taken);
    this.#taken = 0;
  }
}
