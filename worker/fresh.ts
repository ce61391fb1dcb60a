/**
 * What the platform remembers of containers in an object's instance can be of no use any more: after a restart of the engine
 * `wrangler dev` starts none for an object that had one before. A fresh instance forgets all that. So an object in which a
 * container did not start ends its instance, where the caller says that it will come again, and the caller does so once.
 */
export type Attempt = "first" | "last";

/** Request header: the attempt. */
export const ATTEMPT_HEADER = "roombox-attempt";

const REASON = "a container did not start, which a fresh instance may manage";

/** Ends the instance, with all that is being called. */
export function refresh(ctx: DurableObjectState): never {
  ctx.abort(REASON);
  throw new Error(REASON);
}

/** Calls an object, and its next instance where the first one ended for want of a container. */
export async function callFresh<T>(call: (attempt: Attempt) => Promise<T>): Promise<T> {
  try {
    return await call("first");
  } catch (error) {
    if (!isRefreshed(error)) throw error;
    return call("last");
  }
}

/** Whether a call ended with the instance that it was made to: once more than it is made again, or one that cannot be. */
export function isRefreshed(error: unknown): boolean {
  return error instanceof Error && error.message.includes(REASON);
}
