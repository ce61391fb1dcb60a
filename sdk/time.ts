/** Settles after so many milliseconds; rejects at once with the signal's reason. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", aborted, { once: true });
  });
}

/** What a promise settles to, unless the signal comes first: then `abandoned` is told of what it settles to later. */
export function orAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  abandoned: (value: T) => unknown,
): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const aborted = () => {
      reject(signal.reason);
      promise.then(abandoned).catch(() => {}); // nobody is there to be told
    };
    if (signal.aborted) return aborted();
    signal.addEventListener("abort", aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", aborted));
  });
}

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** How long to wait before an attempt, the first of which has number 1: twice as long each time, by chance up to half less. */
export function backoff(attempt: number): number {
  const full = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS);
  return full * (0.5 + Math.random() / 2);
}
