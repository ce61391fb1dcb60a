import { listDurableObjectIds, reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fieldOf, readFields } from "../../worker/fields";
import { Registry, shardOf, shards } from "../../worker/registry";
import { createRoom, listRooms } from "../../worker/rooms";
import { exec, values } from "./calls";
import { containerOf, forgetContainers, withContainer } from "./fake-container";

const MINUTE_MS = 60_000;

afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await reset();
  forgetContainers();
});

/** What a page tells: the names of its sandboxes, and its cursor. */
async function page(limit: number, cursor?: string) {
  const { fields = new Uint8Array() } = await listRooms(env, limit, cursor);
  const rooms = [...readFields(fields)].filter(([name]) => name === "room").map(([, room]) => fieldOf(room, "sandbox"));
  return { rooms, cursor: fieldOf(fields, "cursor") };
}
const use = (name: string) => env.SANDBOX.getByName(name).fetch(exec("true"));
const shard = (name: string) => env.REGISTRY.getByName(shardOf(name));

describe("a room", () => {
  const status = (name: string) =>
    env.SANDBOX.getByName(name)
      .status()
      .then(({ fields }) => values(fields));

  it("that was never used is absent, and asking makes none", async () => {
    expect(await status("sandbox-never")).toEqual({ sandbox: "sandbox-never", status: "absent" });
    await env.SANDBOX.getByName("sandbox-never").destroy();
    await runInDurableObject(env.SANDBOX.getByName("sandbox-never"), (_, { storage }) => {
      const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'");
      expect(tables.toArray()).toEqual([]);
      expect([...storage.kv.list()]).toEqual([]);
    });
    expect(await listDurableObjectIds(env.REGISTRY)).toEqual([]);
  });

  it("tells whether its sandbox starts, runs or sleeps, and wakes none", () =>
    withContainer("sandbox-told", async (sandbox, container) => {
      const told = () => values(sandbox.status().fields).status;
      const healthy = Promise.withResolvers<Response>();
      const real = container.reply;
      container.reply = (path, init) => (path === "/health" ? healthy.promise : real(path, init));
      const reply = sandbox.fetch(exec("true"));
      await vi.waitFor(() => expect(container.running).toBe(true));
      expect(told()).toBe("starting");
      healthy.resolve(container.healthy());
      await reply;
      expect(told()).toBe("running");
      container.end();
      expect(told()).toBe("asleep");
      expect(container.starts).toBe(1);
    }));

  it("knows when it was made and last used", () =>
    withContainer("sandbox-times", async (sandbox) => {
      vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000_000_000 });
      await sandbox.fetch(exec("true"));
      vi.setSystemTime(1_000_000_005_000);
      await sandbox.fetch(exec("true"));
      expect(values(sandbox.status().fields)).toEqual({
        sandbox: "sandbox-times",
        status: "running",
        created_ms: "1000000000000",
        active_ms: "1000000005000",
        sleep_after_ms: "600000",
      });
    }));

  it("is made with an id of its own, and answers once its sandbox takes commands", async () => {
    const { name, fields } = await createRoom(env, "sbx_", new Uint8Array(), "key");
    expect(name).toBe("created");
    const room = values(fields);
    expect(room).toMatchObject({ sandbox: expect.stringMatching(/^sandbox-sbx_[0-9a-f]{18}$/), status: "running" });
    expect((await page(10)).rooms).toEqual([room.sandbox]);
  });

  it("is not made where its sandbox does not start", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    const name = "sandbox-fails";
    vi.spyOn(containerOf(env.SANDBOX.getByName(name).id), "start").mockImplementation(() => {
      throw new Error("start() cannot be called now");
    });
    expect(await env.SANDBOX.getByName(name).create(new Uint8Array(), "key")).toEqual({ name: "start_failed" });
  });
});

describe("the list of rooms", () => {
  it("has those that are there, newest activity first, by pages", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const names = Array.from({ length: 7 }, (_, n) => `sandbox-listed-${n}`);
    for (const name of names) {
      vi.setSystemTime(Date.now() + MINUTE_MS);
      await use(name);
    }
    expect(await page(20)).toEqual({ rooms: names.toReversed(), cursor: undefined });
    const seen: (string | undefined)[] = [];
    for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
      const each = await page(3, cursor);
      seen.push(...each.rooms);
      cursor = each.cursor;
    }
    expect(seen).toEqual(names.toReversed());

    vi.setSystemTime(Date.now() + MINUTE_MS);
    await use("sandbox-listed-0");
    expect((await page(1)).rooms).toEqual(["sandbox-listed-0"]);
  });

  it("goes by names where rooms were used at the same time", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const name of ["sandbox-B", "sandbox-a", "sandbox-c"]) await use(name);
    const first = await page(2);
    expect([...first.rooms, ...(await page(2, first.cursor)).rooms]).toEqual(["sandbox-c", "sandbox-a", "sandbox-B"]);
  });

  it("is in exact order, though the registry hears of each room every 10 s only", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    await use("sandbox-first");
    vi.setSystemTime(Date.now() + 1000);
    await use("sandbox-second");
    vi.setSystemTime(Date.now() + 1000);
    await use("sandbox-first");
    const at = (await shard("sandbox-first").page(10)).find(({ name }) => name === "sandbox-first")?.at;
    expect(at).toBe(Date.now() - 2000);
    expect((await page(10)).rooms).toEqual(["sandbox-first", "sandbox-second"]);
  });

  it("starts no sandbox", async () => {
    await withContainer("sandbox-sleeps", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      container.end();
    });
    expect((await page(10)).rooms).toEqual(["sandbox-sleeps"]);
    expect(containerOf(env.SANDBOX.getByName("sandbox-sleeps").id).starts).toBe(1);
  });

  it("loses a room with its deletion", async () => {
    await use("sandbox-deleted");
    await env.SANDBOX.getByName("sandbox-deleted").destroy();
    expect(await page(10)).toEqual({ rooms: [], cursor: undefined });
    expect(await shard("sandbox-deleted").page(10)).toEqual([]);
  });

  it("leaves out what is gone, and has the registry forget it, unless it is back", async () => {
    await shard("sandbox-gone").touch("sandbox-gone", 1);
    await shard("sandbox-gone").touch("sandbox-gone", 5);
    expect((await page(10)).rooms).toEqual([]);
    expect(await shard("sandbox-gone").page(10)).toEqual([]);
    await shard("sandbox-gone").touch("sandbox-gone", 7);
    await shard("sandbox-gone").remove("sandbox-gone", 6);
    expect(await shard("sandbox-gone").page(10)).toEqual([{ name: "sandbox-gone", at: 7 }]);
  });

  it("has a room before its sandbox starts", () =>
    withContainer("sandbox-early", async (sandbox, container) => {
      let known: unknown[] = [];
      const { start } = container;
      const calls: Promise<void>[] = [];
      container.start = (options) => {
        calls.push(
          shard("sandbox-early")
            .page(1)
            .then((entries) => {
              known = entries;
            }),
        );
        start.call(container, options);
      };
      await sandbox.fetch(exec("true"));
      await Promise.all(calls);
      expect(known).toHaveLength(1);
    }));

  it("does not hold up a call in a room that is there", () =>
    withContainer("sandbox-busy", async (sandbox) => {
      vi.useFakeTimers({ toFake: ["Date"] });
      await sandbox.fetch(exec("true"));
      const touched = Promise.withResolvers<void>();
      vi.spyOn(Registry.prototype, "touch").mockReturnValue(touched.promise as unknown as undefined);
      vi.setSystemTime(Date.now() + MINUTE_MS);
      expect((await sandbox.fetch(exec("true"))).status).toBe(200);
      touched.resolve();
    }));
});

it("rooms are spread over all shards, evenly", () => {
  const counts = new Map(shards.map((name) => [name, 0]));
  for (let n = 0; n < 16_000; n++) {
    const name = shardOf(`sandbox-room-${n}`);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  expect(counts.size).toBe(16);
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(150);
  expect(shardOf("sandbox-room-123")).toBe("registry-13");
});
