import { globSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Of ids: so many digits are the copy's number. */
const NUMBERED = 10;

/**
 * Copies the one record of a room until it has so many, in the storage of a `wrangler dev` that does not run: to run as many
 * commands would take an hour, and the object would prune them. The schema is that of worker/records.ts.
 *
 * @param state the server's directory (`--persist-to`)
 * @param id of the execution
 */
export function fillRecords(state: string, id: string, count: number): void {
  for (const file of globSync(join(state, "v3/do/*/*.sqlite"))) {
    const database = new DatabaseSync(file);
    try {
      if (!hasRecord(database, id)) continue;
      copy(database, id, count);
      return;
    } finally {
      database.close();
    }
  }
  throw new Error(`no object below ${state} has the record ${id}`);
}

function hasRecord(database: DatabaseSync, id: string): boolean {
  const table = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'executions'").get();
  return table !== undefined && database.prepare("SELECT 1 FROM executions WHERE id = ?").get(id) !== undefined;
}

function copy(database: DatabaseSync, id: string, count: number): void {
  const row = database.prepare("SELECT seq, status, started, head FROM executions WHERE id = ?").get(id);
  const parts = database.prepare("SELECT part, bytes FROM parts WHERE seq = ?").all(row?.seq ?? null);
  const record = database.prepare("INSERT INTO executions (id, status, started, head) VALUES (?, ?, ?, ?)");
  const part = database.prepare("INSERT INTO parts VALUES (?, ?, ?)");
  database.exec("BEGIN");
  for (let n = 1; n < count; n++) {
    const other = id.slice(0, -NUMBERED) + `${n}`.padStart(NUMBERED, "0");
    const head = Buffer.from(row?.head as Uint8Array);
    head.write(other, head.indexOf(id), "latin1"); // as long as the other
    const { lastInsertRowid } = record.run(other, row?.status ?? null, row?.started ?? null, head);
    for (const { part: number, bytes } of parts) part.run(lastInsertRowid, number ?? null, bytes ?? null);
  }
  database.exec("COMMIT");
}
