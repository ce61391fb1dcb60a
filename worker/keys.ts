import { concat } from "./bytes";
import { Tables } from "./tables";

/** How long a key stands for its execution. */
const KEPT_MS = 24 * 3600_000;
const PRUNED_AT_ONCE = 8;

const SCHEMA = `
  CREATE TABLE keys (key TEXT PRIMARY KEY, digest TEXT NOT NULL, execution TEXT NOT NULL UNIQUE, at INTEGER NOT NULL);
  CREATE INDEX keys_by_time ON keys (at);
`;

/** What a key was first used for: the digest of what was asked, and the execution that came of it. */
export type Use = { digest: string; execution: string };

/** The idempotency keys of a room: which execution each stands for. */
export class Keys {
  readonly #sql: SqlStorage;
  readonly #tables: Tables;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#tables = new Tables(sql, "keys", SCHEMA);
  }

  find(key: string): Use | undefined {
    if (!this.#tables.exist) return undefined;
    const query = "SELECT digest, execution FROM keys WHERE key = ? AND at >= ?";
    return this.#sql.exec<Use>(query, key, Date.now() - KEPT_MS).next().value;
  }

  insert(key: string, { digest, execution }: Use): void {
    this.#tables.make();
    const now = Date.now();
    this.#sql.exec("INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?)", key, digest, execution, now);
    this.#sql.exec(
      "DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE at < ? ORDER BY at LIMIT ?)",
      now - KEPT_MS,
      PRUNED_AT_ONCE,
    );
  }

  /** Nothing came of it: its key may be used anew. */
  release(execution: string): void {
    if (this.#tables.exist) this.#sql.exec("DELETE FROM keys WHERE execution = ?", execution);
  }
}

/** What makes two calls the same. */
export async function digestOf(dialect: string, body: Uint8Array): Promise<string> {
  const bytes = concat(new TextEncoder().encode(`${dialect}\n`), body);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
