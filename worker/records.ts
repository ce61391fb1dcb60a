import { KEPT_FIELDS } from "./audit";
import { type Bytes, concat } from "./bytes";
import { type Field, readFields, writeFields } from "./fields";
import type { Frame } from "./frames";
import { Tables } from "./tables";

/** Kept: so many, and for so long. */
export const MAX_RECORDS = 1000;
const MAX_AGE_MS = 7 * 24 * 3600_000;
/** One is added at a time, so taking away up to so many at each lets no backlog last. */
const PRUNED_AT_ONCE = 8;

/** A row takes 2 MB. */
const PART_BYTES = 1 << 20;
/** Lists show so much of a command (wasm/protocol/limits.h), and three bytes more tell the core where to cut a character. */
const LISTED_COMMAND_BYTES = 1024 + 3;

// `head` is what lists show: small, however long the command. What else there is of a record follows in `parts`; a command
// that the head has cut comes there in full, as later fields override earlier ones.
const SCHEMA = `
  CREATE TABLE executions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, started INTEGER NOT NULL, head BLOB NOT NULL);
  CREATE INDEX executions_by_status ON executions (status, seq);
  CREATE TABLE parts (seq INTEGER NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (seq, part));
`;

/** Told of each that has ended, by the fields of its record, in parts. */
export type OnEnd = (fields: Uint8Array[]) => void;

type Row = { seq: number; status: string; started: number; head: ArrayBuffer };

/** A page of a list: the heads of records, newest first, and where the next page begins. */
export interface Page {
  heads: Bytes[];
  cursor: string | undefined;
}

/**
 * The records of a room's executions. A record is `running` from before the agent is asked until it has ended, which
 * whoever wants to know can wait for; a running one is always of the container that runs now.
 */
export class Records {
  readonly #sql: SqlStorage;
  readonly #tables: Tables;
  readonly #onEnd: OnEnd;
  /** Those whose end somebody waits for. */
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>();
  /** When the last one ended that this has written down, in Unix milliseconds. */
  lastEnd = 0;

  constructor(sql: SqlStorage, onEnd: OnEnd) {
    this.#sql = sql;
    this.#onEnd = onEnd;
    this.#tables = new Tables(sql, "executions", SCHEMA);
  }

  /** Adds a running one; what the caller knows of it are fields. */
  insert(id: string, seed: Uint8Array): void {
    this.#tables.make();
    const started = Date.now();
    const fields = writeFields(["id", id], ["status", "running"], ["started_ms", started]);
    this.#write(id, "running", started, concat(seed, fields), new Uint8Array());
    this.#prune(started);
  }

  /**
   * Writes how one ended, as the agent tells it. To tell it again changes nothing. Of one whose record was taken back nobody
   * knows whose it was: it is written, and `onEnd` is not told of it.
   */
  finish({ id, status, head, output }: Frame): void {
    this.#tables.make();
    const row = this.#row(id);
    if (row && row.status !== "running") return;
    const kept = row ? keptFields(new Uint8Array(row.head)) : new Uint8Array();
    this.#write(id, status, Date.now(), concat(head, kept), output);
    if (row) this.#onEnd([head, kept, output]);
    this.#wake(id);
  }

  /** Ends running ones of which no agent will tell any more: they have `failed`, with an outcome's name as the reason. */
  fail(ids: string[], outcome: string): void {
    for (const id of ids) {
      const row = this.#row(id);
      if (row?.status !== "running") continue;
      const head = concat(new Uint8Array(row.head), endOf(row, outcome));
      this.#sql.exec("UPDATE executions SET status = 'failed', head = ? WHERE seq = ?", head, row.seq);
      this.#onEnd([head]);
      this.#wake(id);
    }
  }

  /** Tells of the end of all that run, as their records are about to be deleted with them. Writes nothing. */
  endAll(outcome: string): void {
    for (const id of this.running()) {
      const row = this.#row(id);
      if (row) this.#onEnd([new Uint8Array(row.head), endOf(row, outcome)]);
    }
  }

  /** Takes back one that was never run. */
  drop(id: string): void {
    const row = this.#row(id);
    if (row) this.#delete(row.seq);
    this.#wake(id);
  }

  status(id: string): string | undefined {
    return this.#row(id)?.status;
  }

  /** All fields of one. */
  get(id: string): Bytes | undefined {
    const row = this.#row(id);
    if (!row) return undefined;
    const parts = this.#sql.exec<{ bytes: ArrayBuffer }>(
      "SELECT bytes FROM parts WHERE seq = ? ORDER BY part",
      row.seq,
    );
    return concat(new Uint8Array(row.head), ...parts.toArray().map(({ bytes }) => new Uint8Array(bytes)));
  }

  /** Those older than the cursor's, all or of a status. */
  page(limit: number, cursor?: string, status?: string): Page {
    if (!this.#tables.exist) return { heads: [], cursor: undefined };
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : Number(cursor);
    const among = status === undefined ? "" : "status = ? AND ";
    const rows = this.#sql
      .exec<Pick<Row, "seq" | "head">>(
        `SELECT seq, head FROM executions WHERE ${among} seq < ? ORDER BY seq DESC LIMIT ?`,
        ...(status === undefined ? [] : [status]),
        before,
        limit + 1,
      )
      .toArray();
    const page = rows.slice(0, limit);
    return {
      heads: page.map(({ head }) => new Uint8Array(head)),
      cursor: rows.length > limit ? `${page.at(-1)?.seq}` : undefined,
    };
  }

  running(): string[] {
    if (!this.#tables.exist) return [];
    const rows = this.#sql.exec<{ id: string }>("SELECT id FROM executions WHERE status = 'running' ORDER BY seq");
    return rows.toArray().map(({ id }) => id);
  }

  get countRunning(): number {
    if (!this.#tables.exist) return 0;
    const query = "SELECT count(*) AS count FROM executions WHERE status = 'running'";
    return this.#sql.exec<{ count: number }>(query).one().count;
  }

  get anyRunning(): boolean {
    return (
      this.#tables.exist && !this.#sql.exec("SELECT 1 FROM executions WHERE status = 'running' LIMIT 1").next().done
    );
  }

  /** When the newest one started, in Unix milliseconds. */
  get newest(): number | undefined {
    if (!this.#tables.exist) return undefined;
    return this.#sql.exec<{ started: number }>("SELECT started FROM executions ORDER BY seq DESC LIMIT 1").next().value
      ?.started;
  }

  /** Settles once it does not run: it has ended, it was never run, or the room was deleted. */
  ended(id: string): Promise<void> {
    if (this.status(id) !== "running") return Promise.resolve();
    let waiting = this.#waiting.get(id);
    if (!waiting) {
      waiting = Promise.withResolvers();
      this.#waiting.set(id, waiting);
    }
    return waiting.promise;
  }

  /** The storage has been emptied: nothing runs any more. */
  forget(): void {
    for (const id of [...this.#waiting.keys()]) this.#wake(id);
  }

  #wake(id: string): void {
    this.lastEnd = Date.now();
    this.#waiting.get(id)?.resolve();
    this.#waiting.delete(id);
  }

  #row(id: string): Row | undefined {
    if (!this.#tables.exist) return undefined;
    return this.#sql.exec<Row>("SELECT seq, status, started, head FROM executions WHERE id = ?", id).next().value;
  }

  #write(id: string, status: string, now: number, head: Uint8Array, output: Uint8Array): void {
    const [listed, long] = cutLongFields(head);
    const { seq } = this.#sql
      .exec<{ seq: number }>(
        `INSERT INTO executions (id, status, started, head) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET status = excluded.status, head = excluded.head RETURNING seq`,
        id,
        status,
        now,
        listed,
      )
      .one();
    this.#sql.exec("DELETE FROM parts WHERE seq = ?", seq);
    const rest = concat(long, output);
    for (let at = 0; at < rest.byteLength; at += PART_BYTES) {
      this.#sql.exec("INSERT INTO parts VALUES (?, ?, ?)", seq, at / PART_BYTES, rest.slice(at, at + PART_BYTES));
    }
  }

  /** Looks at the oldest few only, so that its cost does not grow with how many there are. Running ones stay. */
  #prune(now: number): void {
    const { newest } = this.#sql.exec<{ newest: number }>("SELECT max(seq) AS newest FROM executions").one();
    const oldest = this.#sql
      .exec<{ seq: number; started: number }>(
        "SELECT seq, started FROM executions WHERE status <> 'running' ORDER BY seq LIMIT ?",
        PRUNED_AT_ONCE,
      )
      .toArray();
    for (const { seq, started } of oldest) {
      if (seq <= newest - MAX_RECORDS || started < now - MAX_AGE_MS) this.#delete(seq);
    }
  }

  #delete(seq: number): void {
    this.#sql.exec("DELETE FROM parts WHERE seq = ?", seq);
    this.#sql.exec("DELETE FROM executions WHERE seq = ?", seq);
  }
}

/** What a record has from the object: its agent does not tell that. */
function keptFields(head: Uint8Array): Bytes {
  return writeFields(...[...readFields(head)].filter(([name]) => KEPT_FIELDS.includes(name)));
}

/** The end of one that has failed, of which no agent tells. */
function endOf({ started }: Row, outcome: string): Bytes {
  const now = Date.now();
  return writeFields(["status", "failed"], ["outcome", outcome], ["finished_ms", now], ["duration_ms", now - started]);
}

/** Fields that may be long, of which lists show the beginning. */
const LONG_FIELDS = ["command", "arguments"];

/** A head as lists show it, and the fields that it then lacks. */
function cutLongFields(head: Uint8Array): [listed: Uint8Array, cut: Uint8Array] {
  const fields = [...readFields(head)];
  const cut = fields.filter(
    (field) =>
      field[1].byteLength > LISTED_COMMAND_BYTES &&
      LONG_FIELDS.includes(field[0]) &&
      field === fields.findLast(([name]) => name === field[0]),
  );
  if (cut.length === 0) return [head, new Uint8Array()];
  const listed = fields.map(
    (field): Field => (cut.includes(field) ? [field[0], field[1].subarray(0, LISTED_COMMAND_BYTES)] : field),
  );
  return [writeFields(...listed), writeFields(...cut)];
}
