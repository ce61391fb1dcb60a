/**
 * Tables that are made at the first write and looked for before each read. So a room that was never used, or is deleted,
 * is read without a write: `deleteAll()` takes tables with it, and an object that stored nothing costs nothing.
 */
export class Tables {
  constructor(
    private readonly sql: SqlStorage,
    /** One of them stands for all: they are made together. */
    private readonly name: string,
    private readonly schema: string,
  ) {}

  get exist(): boolean {
    return !this.sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", this.name).next().done;
  }

  make(): void {
    if (!this.exist) this.sql.exec(this.schema);
  }
}
