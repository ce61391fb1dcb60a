import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fieldOf, writeFields } from "../../worker/fields";
import type { Frame } from "../../worker/frames";
import { Keys } from "../../worker/keys";
import { Records } from "../../worker/records";

const DAY_MS = 24 * 3600_000;
const text = (bytes: Uint8Array | undefined, name: string) => bytes && fieldOf(bytes, name);
const id = (n: number) => `exec_${n.toString(16).padStart(20, "0")}`;
const ended = (n: number, output: Uint8Array = new Uint8Array(), command = "true"): Frame => ({
  id: id(n),
  status: n % 10 === 0 ? "timeout" : "completed",
  head: writeFields(["id", id(n)], ["command", command], ["status", n % 10 === 0 ? "timeout" : "completed"]),
  output: output.byteLength > 0 ? writeFields(["stdout", output]) : output,
});

let rooms = 0;
function withStorage(test: (records: Records, state: DurableObjectState) => void | Promise<void>) {
  return runInDurableObject(env.SANDBOX.getByName(`sandbox-records-${rooms++}`), (_, state) =>
    test(new Records(state.storage.sql, () => undefined), state),
  );
}
const tablesOf = ({ storage }: DurableObjectState) =>
  storage.sql
    .exec<{ n: number }>("SELECT count(*) AS n FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
    .one().n;
const add = (records: Records, n: number) => {
  records.insert(id(n), new Uint8Array());
  records.finish(ended(n));
};

afterEach(() => {
  vi.useRealTimers();
});

describe("a record", () => {
  it("is running until the agent tells of its end", () =>
    withStorage(async (records) => {
      records.insert(id(1), writeFields(["mode", "plain"], ["command", "true"]));
      expect(records.running()).toEqual([id(1)]);
      expect(records.anyRunning).toBe(true);
      expect(text(records.get(id(1)), "command")).toBe("true");
      expect(text(records.get(id(1)), "status")).toBe("running");
      let told = false;
      const end = records.ended(id(1)).then(() => {
        told = true;
      });
      await Promise.resolve();
      expect(told).toBe(false);
      records.finish(ended(1, new TextEncoder().encode("out")));
      await end;
      expect(text(records.get(id(1)), "status")).toBe("completed");
      expect(text(records.get(id(1)), "stdout")).toBe("out");
      expect(records.anyRunning).toBe(false);
      await records.ended(id(1));
    }));

  it("is told of at its end once, and not where it was taken back", () =>
    withStorage((_, { storage }) => {
      const told = vi.fn();
      const records = new Records(storage.sql, told);
      records.insert(id(1), writeFields(["caller", "key:ci"]));
      records.finish(ended(1));
      records.finish(ended(1));
      expect(told).toHaveBeenCalledTimes(1);
      records.insert(id(2), writeFields(["caller", "key:ci"]));
      records.drop(id(2));
      records.finish(ended(2)); // it ran after all
      expect(told).toHaveBeenCalledTimes(1);
      expect(records.status(id(2))).toBe("completed");
    }));

  it("keeps its end when it is told again, or given up", () =>
    withStorage((records) => {
      add(records, 1);
      records.finish({ ...ended(1), status: "failed" });
      records.fail([id(1), id(2)], "lost");
      expect(records.status(id(1))).toBe("completed");
      expect(records.status(id(2))).toBeUndefined();
    }));

  it("is written even where it was not known", () =>
    withStorage((records) => {
      records.finish(ended(1));
      expect(records.status(id(1))).toBe("completed");
    }));

  it("says why it failed, and when", () =>
    withStorage(async (records) => {
      records.insert(id(1), writeFields(["command", "sleep 9"]));
      const end = records.ended(id(1));
      records.fail(records.running(), "lost");
      await end;
      const record = records.get(id(1));
      expect(text(record, "status")).toBe("failed");
      expect(text(record, "outcome")).toBe("lost");
      expect(text(record, "command")).toBe("sleep 9");
      expect(Number(text(record, "finished_ms"))).toBeGreaterThanOrEqual(Number(text(record, "started_ms")));
      expect(text(record, "duration_ms")).toMatch(/^\d+$/);
      records.finish(ended(1)); // too late
      expect(records.status(id(1))).toBe("failed");
    }));

  it("that never ran is taken back", () =>
    withStorage(async (records) => {
      records.insert(id(1), new Uint8Array());
      const end = records.ended(id(1));
      records.drop(id(1));
      await end;
      expect(records.get(id(1))).toBeUndefined();
      expect(records.page(10).heads).toEqual([]);
    }));

  it("holds all that one can be, byte for byte, in rows that the platform takes", () =>
    withStorage((records, { storage }) => {
      const command = "é".repeat(512 << 10);
      const output = crypto.getRandomValues(new Uint8Array(65536));
      const large = new Uint8Array((2 << 20) + (64 << 10));
      for (let at = 0; at < large.byteLength; at += output.byteLength) large.set(output, at);
      records.insert(id(1), writeFields(["mode", "detach"], ["command", command]));
      expect(text(records.get(id(1)), "command")).toBe(command);
      records.finish(ended(1, large, command));
      const record = records.get(id(1)) as Uint8Array;
      expect(text(record, "command")).toBe(command);
      expect(record.subarray(-large.byteLength).toBase64() === large.toBase64()).toBe(true);
      const [head] = records.page(1).heads as [Uint8Array];
      expect(head.byteLength).toBeLessThan(2000);
      expect(command.startsWith(`${text(head, "command")}`.slice(0, 512))).toBe(true);
      const { longest } = storage.sql
        .exec<{ longest: number }>("SELECT max(length(bytes)) AS longest FROM parts")
        .one();
      expect(longest).toBe(1 << 20);
    }));
});

describe("the list", () => {
  it("tells the newest first, by pages", () =>
    withStorage((records) => {
      for (let n = 1; n <= 25; n++) add(records, n);
      const seen: (string | undefined)[] = [];
      for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
        const page = records.page(10, cursor);
        seen.push(...page.heads.map((head) => text(head, "id")));
        cursor = page.cursor;
      }
      expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => id(25 - n)));
      expect(records.page(25).cursor).toBeUndefined();
    }));

  it("may be of one status", () =>
    withStorage((records) => {
      for (let n = 1; n <= 25; n++) add(records, n);
      records.insert(id(26), new Uint8Array());
      const page = records.page(1, undefined, "timeout");
      expect(page.heads.map((head) => text(head, "id"))).toEqual([id(20)]);
      expect(records.page(5, page.cursor, "timeout").heads.map((head) => text(head, "id"))).toEqual([id(10)]);
      expect(records.page(5, undefined, "running").heads).toHaveLength(1);
    }));
});

describe("of records there are", () => {
  it("the last 1000, and those that run", () =>
    withStorage((records, { storage }) => {
      records.insert(id(1), new Uint8Array());
      for (let n = 2; n <= 1200; n++) add(records, n);
      const { n } = storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM executions").one();
      expect(n).toBe(1001);
      expect(records.status(id(1))).toBe("running");
      expect(records.status(id(200))).toBeUndefined();
      expect(records.status(id(201))).toBe("completed");
    }));

  it("those of seven days", () =>
    withStorage((records) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      for (let n = 1; n <= 10; n++) add(records, n);
      vi.setSystemTime(Date.now() + 7 * DAY_MS + 1);
      for (let n = 11; n <= 13; n++) add(records, n);
      expect(records.page(100).heads).toHaveLength(3);
    }));

  it("as many reads and writes for one, however many there are", () =>
    withStorage((records, { storage }) => {
      const cost = (n: number) => {
        const { exec } = storage.sql;
        const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
        const spied = vi.spyOn(storage.sql, "exec").mockImplementation((query, ...bindings) => {
          const cursor = exec.call(storage.sql, query, ...bindings);
          cursors.push(cursor);
          return cursor;
        });
        add(records, n);
        records.page(10);
        spied.mockRestore();
        return cursors.reduce((sum, { rowsRead, rowsWritten }) => sum + rowsRead + rowsWritten, 0);
      };
      for (let n = 1; n <= 20; n++) add(records, n);
      const few = cost(21);
      for (let n = 22; n <= 900; n++) add(records, n);
      expect(cost(901)).toBeLessThanOrEqual(few + 2);
    }));
});

describe("a room without records", () => {
  it("is read without a write, also after it lost them", () =>
    withStorage(async (records, state) => {
      const read = () => {
        expect(records.get(id(1))).toBeUndefined();
        expect(records.page(10)).toEqual({ heads: [], cursor: undefined });
        expect(records.running()).toEqual([]);
        expect(records.anyRunning).toBe(false);
        expect(records.newest).toBeUndefined();
        records.fail([id(1)], "lost");
        records.drop(id(1));
        const keys = new Keys(state.storage.sql);
        expect(keys.find("key")).toBeUndefined();
        keys.release(id(1));
        expect(tablesOf(state)).toBe(0);
      };
      read();
      records.insert(id(1), new Uint8Array());
      const end = records.ended(id(1));
      await state.storage.deleteAll();
      records.forget();
      await end;
      read();
    }));
});

describe("a key", () => {
  const use = (n: number) => ({ digest: `digest ${n}`, execution: id(n) });

  it("stands for its execution for a day", () =>
    withStorage((_, { storage }) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const keys = new Keys(storage.sql);
      keys.insert("a", use(1));
      vi.setSystemTime(Date.now() + DAY_MS);
      expect(keys.find("a")).toEqual(use(1));
      vi.setSystemTime(Date.now() + 1);
      expect(keys.find("a")).toBeUndefined();
      keys.insert("a", use(2));
      expect(keys.find("a")).toEqual(use(2));
    }));

  it("is given back where nothing ran", () =>
    withStorage((_, { storage }) => {
      const keys = new Keys(storage.sql);
      keys.insert("a", use(1));
      keys.insert("b", use(2));
      keys.release(id(1));
      expect([keys.find("a"), keys.find("b")]).toEqual([undefined, use(2)]);
    }));

  it("leaves nothing behind once its day is over", () =>
    withStorage((_, { storage }) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      const keys = new Keys(storage.sql);
      for (let n = 0; n < 20; n++) keys.insert(`${n}`, use(n));
      vi.setSystemTime(Date.now() + DAY_MS + 1);
      for (let n = 20; n < 24; n++) keys.insert(`${n}`, use(n));
      expect(storage.sql.exec<{ n: number }>("SELECT count(*) AS n FROM keys").one().n).toBe(4);
    }));
});
