import { type Field, fieldOf, writeFields } from "./fields";
import { sandboxOf } from "./names";
import type { Outcome } from "./outcome";
import { type Entry, shardOf, shards } from "./registry";

const ID_BYTES = 9;

/** Makes a room with an id that no other has, and starts its sandbox, with variables for all of its commands. */
export function createRoom(
  env: Env,
  prefix: string,
  variables: Uint8Array,
  caller: string,
  sleepAfter?: number,
): Promise<Outcome> {
  const id = prefix + crypto.getRandomValues(new Uint8Array(ID_BYTES)).toHex();
  return env.SANDBOX.getByName(sandboxOf(id)).create(variables, caller, sleepAfter);
}

/** A page of the rooms, newest activity first. `cursor` is that of an earlier page. */
export async function listRooms(env: Env, limit: number, cursor: string | undefined): Promise<Outcome> {
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const found = await Promise.all(shards.map((shard) => env.REGISTRY.getByName(shard).page(limit + 1, after)));
  const entries = found.flat().sort(byTime);
  const page = entries.slice(0, limit);
  const rooms = await Promise.all(page.map((entry) => look(env, entry)));

  // The registry lags behind the rooms; they know exactly.
  const sorted = rooms.filter((room) => room !== undefined).sort((a, b) => activity(b) - activity(a));
  const fields = sorted.map((room): Field => ["room", room]);
  const last = page.at(-1);
  if (last && entries.length > limit) fields.push(["cursor", `${last.at}.${last.name}`]);
  return { name: "rooms", fields: writeFields(...fields) };
}

/** What a room says of itself; nothing of one that is gone, which the registry then hears. Wakes no sandbox. */
async function look(env: Env, { name, at }: Entry): Promise<Uint8Array | undefined> {
  const { fields = new Uint8Array() } = await env.SANDBOX.getByName(name).status();
  if (fieldOf(fields, "status") !== "absent") return fields;
  await env.REGISTRY.getByName(shardOf(name)).remove(name, at);
  return undefined;
}

/** A room that starts for the first time is in use, and has no times yet. */
function activity(room: Uint8Array): number {
  return Number(fieldOf(room, "active_ms") ?? Number.MAX_SAFE_INTEGER);
}

/** As the registry orders them: names are ASCII, so that SQLite and `<` agree. */
function byTime(a: Entry, b: Entry): number {
  return b.at - a.at || (a.name < b.name ? 1 : -1);
}

function parseCursor(cursor: string): Entry {
  const dot = cursor.indexOf(".");
  return { at: Number(cursor.slice(0, dot)), name: cursor.slice(dot + 1) };
}
