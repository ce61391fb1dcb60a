import { DurableObject } from "cloudflare:workers";
import { Tables } from "./tables";

/** Rooms are spread over so many objects of this class; a change of it loses those that are there. */
const SHARDS = 16;

const SCHEMA = `
  CREATE TABLE rooms (name TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX rooms_by_time ON rooms (at, name);
`;

const CLAIMS_SCHEMA = "CREATE TABLE claims (name TEXT PRIMARY KEY) WITHOUT ROWID;";

/** A room by its sandbox's name, and when it was last in use, in Unix milliseconds. */
export type Entry = { name: string; at: number };

/** Which rooms there are: one shard of them. Or, by another name, which a key has made, where those are counted. */
export class Registry extends DurableObject<Env> {
  readonly #tables = new Tables(this.ctx.storage.sql, "rooms", SCHEMA);
  readonly #claims = new Tables(this.ctx.storage.sql, "claims", CLAIMS_SCHEMA);

  /** The room is there, and in use. */
  touch(name: string, at: number): void {
    this.#tables.make();
    this.#sql.exec("INSERT INTO rooms VALUES (?, ?) ON CONFLICT DO UPDATE SET at = max(at, excluded.at)", name, at);
  }

  /** The room is gone. With `at`: unless it has been in use since. */
  remove(name: string, at = Number.MAX_SAFE_INTEGER): void {
    if (this.#tables.exist) this.#sql.exec("DELETE FROM rooms WHERE name = ? AND at <= ?", name, at);
  }

  /** Those that come after an entry, newest first. */
  page(limit: number, after?: Entry): Entry[] {
    if (!this.#tables.exist) return [];
    const { at, name } = after ?? { at: Number.MAX_SAFE_INTEGER, name: "" };
    const query = "SELECT name, at FROM rooms WHERE (at, name) < (?, ?) ORDER BY at DESC, name DESC LIMIT ?";
    return this.#sql.exec<Entry>(query, at, name, limit).toArray();
  }

  /** Takes one of so many places for a room, unless it has one. False: all are taken. */
  claim(name: string, most: number): boolean {
    this.#claims.make();
    if (!this.#sql.exec("SELECT 1 FROM claims WHERE name = ?", name).next().done) return true;
    const query = "SELECT count(*) AS count FROM (SELECT 1 FROM claims LIMIT ?)"; // there may be many, of a time without a bound as low
    if (this.#sql.exec<{ count: number }>(query, most).one().count >= most) return false;
    this.#sql.exec("INSERT INTO claims VALUES (?)", name);
    return true;
  }

  /** Gives a room's place back, if it has one. */
  release(name: string): void {
    if (this.#claims.exist) this.#sql.exec("DELETE FROM claims WHERE name = ?", name);
  }

  get #sql(): SqlStorage {
    return this.ctx.storage.sql;
  }
}

/** The name of the object that knows of a room: by FNV-1a of its sandbox's name, which is ASCII. */
export function shardOf(name: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return `registry-${(hash >>> 0) % SHARDS}`;
}

export const shards = Array.from({ length: SHARDS }, (_, n) => `registry-${n}`);
