/** What a promise comes to, if it does so within so many milliseconds; undefined if not. Leaves no timer behind. */
export async function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  const timer = scheduler.wait(ms, { signal: over.signal }).catch(() => undefined);
  try {
    return await Promise.race([promise, timer as Promise<undefined>]);
  } finally {
    over.abort();
  }
}
