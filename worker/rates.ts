import type { Caller } from "./credentials";

/**
 * Whether a call is one too many within a minute, of its caller or of those to its sandbox (empty where it is for none). Where
 * nobody needs credentials nobody is counted.
 */
export async function isTooMany(env: Env, caller: Caller, sandbox: string): Promise<boolean> {
  if (caller.word === "open") return false;
  const counts = [env.CALLER_RATE.limit({ key: caller.counted })];
  if (sandbox) counts.push(env.ROOM_RATE.limit({ key: sandbox }));
  return (await Promise.all(counts)).some(({ success }) => !success);
}
