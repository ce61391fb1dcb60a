import {
  createExecutionContext,
  reset,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CALLER_HEADER } from "../../worker/executions";
import worker from "../../worker/index";
import type { Registry } from "../../worker/registry";
import { createRoom, listRooms } from "../../worker/rooms";
import { exec, status, told } from "./calls";
import { containerOf, forgetContainers, notListening, withContainer } from "./fake-container";

// How many rooms a key may have at once: three, by vitest.config.ts.

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue();
  vi.spyOn(console, "log").mockReturnValue();
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await reset();
  forgetContainers();
});

const object = (room: string) => env.SANDBOX.getByName(`sandbox-${room}`);
const container = (room: string) => containerOf(object(room).id);
const use = (room: string, caller = "key:ci") => {
  const request = exec("true");
  request.headers.set(CALLER_HEADER, caller);
  return told(object(room).fetch(request));
};
const claims = (key: string) =>
  runInDurableObject(env.REGISTRY.getByName(`owner-${key}`), (_: Registry, { storage }) => {
    const tables = storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'claims'").toArray();
    return tables.length === 0
      ? []
      : storage.sql
          .exec("SELECT name FROM claims")
          .toArray()
          .map(({ name }) => name);
  });
const REFUSED = { name: "too_many_rooms" };
const RAN = { status: 200 };

it("refuses one room more than a key may have, and starts nothing for it", async () => {
  for (const room of ["a", "b", "c"]) expect(await use(room)).toEqual(RAN);
  expect(await use("d")).toEqual(REFUSED);
  expect(await createRoom(env, "sbx_", new Uint8Array([1]), "key:ci")).toEqual(REFUSED);
  expect(container("d").starts).toBe(0);
  await runInDurableObject(object("d"), (_, { storage }) => expect([...storage.kv.list()]).toEqual([]));
  expect(await use("a")).toEqual(RAN); // one that is there is never refused
  expect(await use("a", "key:full")).toEqual(RAN);
});

it("counts the calls of a key's tokens and tickets together, and each key alone", async () => {
  const callers = ["token:1;sub=a", "token:1;sub=b;jti=c", "token:1;sub=a;ticket"];
  for (const [n, caller] of callers.entries()) expect(await use(`of-token-${n}`, caller)).toEqual(RAN);
  expect(await use("one-more", "token:1")).toEqual(REFUSED);
  expect(await use("one-more", "token")).toEqual(RAN);
  for (const n of [1, 2, 3, 4, 5]) expect(await use(`open-${n}`, "open")).toEqual(RAN); // of no key
});

it("holds to it however many come at once", async () => {
  const outcomes = await Promise.all(Array.from({ length: 100 }, (_, n) => use(`at-once-${n % 50}`)));
  const rooms = new Set(outcomes.flatMap((outcome, n) => ("status" in outcome ? [n % 50] : [])));
  expect(rooms.size).toBe(3);
  expect(outcomes.filter((outcome) => "status" in outcome)).toHaveLength(6);
  expect(await claims("key:ci")).toHaveLength(3);
});

it("says so in each dialect, whatever the call would begin with", async () => {
  for (const room of ["a", "b", "c"]) await use(room, "key");
  const within = { ...env, AUTH_MODE: "keys", API_KEY: "k", MAX_ROOMS: "3" } as Env;
  const call = async (method: string, path: string, body: string) => {
    const headers = { "x-api-key": "k", "content-type": "application/json" };
    const request = new Request(`https://roombox.example${path}`, { method, headers, body });
    const context = createExecutionContext();
    const reply = await worker.fetch(request as Request<unknown, IncomingRequestCfProperties>, within, context);
    await waitOnExecutionContext(context);
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([429, "60"]);
    return reply.json();
  };
  const message = expect.stringContaining("has 3 rooms, as many as it may");
  const rooms = { error: message, code: "too_many_rooms" };
  expect(await call("POST", "/api/rooms/d/sandbox/exec", '{"cmd":"true"}')).toEqual(rooms);
  expect(await call("PUT", "/api/rooms/d/sandbox/files/workspace/a", "bytes")).toEqual(rooms);
  expect(await call("POST", "/api/rooms/d/sandbox/ports/3000/", "bytes")).toEqual(rooms);
  const v1 = { error: { message, type: "too_many_rooms" } };
  expect(await call("POST", "/v1/sandboxes", "{}")).toEqual(v1);
  expect(await call("POST", "/v1/sandboxes/d/exec", '{"command":"true"}')).toEqual(v1);
  expect(await call("POST", "/api/sandboxes", "{}")).toEqual(rooms);
  expect(await call("POST", "/api/sandboxes/d/exec/run", '{"cmd":"true"}')).toEqual(rooms);
});

it("gives a place back with the room, once", async () => {
  for (const room of ["a", "b", "c"]) await use(room);
  expect(await use("d")).toEqual(REFUSED);
  expect(await object("a").destroy()).toEqual({ name: "deleted" });
  expect(await object("a").destroy()).toEqual({ name: "absent" });
  expect(await use("d")).toEqual(RAN);
  expect(await use("a")).toEqual(REFUSED);
});

it("gives it back where the room did not come to be", async () => {
  vi.spyOn(container("a"), "start").mockImplementation(() => {
    throw new Error("start() cannot be called now");
  });
  expect(await use("a")).toEqual({ name: "start_failed" });
  expect(await claims("key:ci")).toEqual([]);
});

const answering = (room: string, answer: () => Response) => {
  const fake = container(room);
  const real = fake.reply;
  fake.reply = (path, init) => (path === "/health" ? answer() : real(path, init));
  return () => {
    fake.reply = real;
  };
};
const dying = (room: string) => () => {
  container(room).end();
  throw new Error("Container failed to start");
};
const kept = (room: string) =>
  runInDurableObject(object(room), (_, { storage }) => [...storage.kv.list()].map(([key]) => key));
const seen = async (room: string) => status(await object(room).status());
/** What the alarm does, so much later. */
const look = async (room: string, after: number) => {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + after });
  await runInDurableObject(object(room), (sandbox) => sandbox.alarm());
};

it("gives it back where the container was started and its agent never answered, and the room is not there", async () => {
  answering("a", dying("a"));
  answering("b", notListening);
  expect(await use("a")).toEqual({ name: "start_failed" });
  expect(await use("b")).toEqual({ name: "start_timeout" });
  expect(await claims("key:ci")).toEqual([]);
  for (const room of ["a", "b"]) expect(await seen(room)).toBe("absent");
  expect(await kept("a")).toEqual([]);
  expect((await listRooms(env, 10, undefined)).fields).toEqual(new Uint8Array());
  for (const room of ["c", "d", "e"]) expect(await use(room)).toEqual(RAN);
});

it("takes a place for a room whose agent answers only to a later call", async () => {
  const mend = answering("a", notListening);
  expect(await use("a")).toEqual({ name: "start_timeout" });
  for (const room of ["b", "c", "d"]) expect(await use(room)).toEqual(RAN);
  mend();
  expect(await use("a")).toEqual(REFUSED);
  await object("b").destroy();
  expect(await use("a")).toEqual(RAN);
  expect(container("a").starts).toBe(1);
  expect(await claims("key:ci")).toEqual(["sandbox-a", "sandbox-c", "sandbox-d"]);
  expect((await listRooms(env, 10, undefined)).fields).not.toEqual(new Uint8Array());
});

it("keeps the place of a room that was there and does not start again", async () => {
  await use("a");
  await runInDurableObject(object("a"), () => container("a").end());
  answering("a", dying("a"));
  expect(await use("a")).toEqual({ name: "start_failed" });
  expect(await claims("key:ci")).toEqual(["sandbox-a"]);
  expect(await seen("a")).toBe("asleep");
});

it("ends a container whose agent never answered, once nobody tries it any more, and saves nothing of it", async () => {
  answering("a", notListening);
  await use("a");
  expect(container("a").running).toBe(true);
  await look("a", 50_000);
  expect(container("a").running).toBe(true);
  await runInDurableObject(object("a"), async (_, { storage }) => {
    expect(await storage.getAlarm()).toBeLessThanOrEqual(Date.now() + 60_000);
  });
  await look("a", 10_001);
  expect(container("a").running).toBe(false);
  expect(container("a").snapshots).toEqual([]);
  expect(await kept("a")).toEqual([]);
});

it("tells those who ask something of a room that it begins what becomes of it", () =>
  withContainer("sandbox-a", async (sandbox, fake) => {
    const knocked = Promise.withResolvers<Response>();
    const real = fake.reply;
    fake.reply = (path, init) => (path === "/health" ? knocked.promise : real(path, init));
    const begun = sandbox.fetch(exec("true"));
    await vi.waitFor(() => expect(fake.running).toBe(true));
    expect(status(sandbox.status())).toBe("starting");
    const asked = sandbox.sleepAfter(5000);
    knocked.resolve(fake.healthy());
    expect((await begun).status).toBe(200);
    expect(await asked).toEqual({ name: "timeout_set" });
  }));

it("counts no more of a key's rooms than it may have", () =>
  runInDurableObject(env.REGISTRY.getByName("owner-many"), (registry: Registry, { storage }) => {
    for (let n = 0; n < 500; n++) registry.claim(`sandbox-${n}`, 500);
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const sql = Object.getPrototypeOf(storage.sql);
    const { exec: real } = sql;
    vi.spyOn(sql, "exec").mockImplementation(function (this: SqlStorage, ...query: unknown[]) {
      const cursor = real.apply(this, query);
      cursors.push(cursor);
      return cursor;
    });
    expect(registry.claim("sandbox-more", 3)).toBe(false);
    const read = cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0);
    expect(read).toBeLessThan(50);
  }));

it("gives it back where the object ended before the room came to be", async () => {
  await env.REGISTRY.getByName("owner-key:ci").claim("sandbox-a", 3);
  await runInDurableObject(object("a"), async (_, { storage }) => {
    storage.kv.put("place", { key: "key:ci", room: "sandbox-a" }); // as it is left then, with an alarm
    await storage.setAlarm(Date.now() + 60_000);
  });
  expect(await claims("key:ci")).toEqual(["sandbox-a"]);
  expect(await runDurableObjectAlarm(object("a"))).toBe(true);
  expect(await claims("key:ci")).toEqual([]);
  await runInDurableObject(object("a"), (_, { storage }) => expect(storage.kv.get("place")).toBeUndefined());
});

it("leaves no place taken by a room that was deleted while it began", async () => {
  const calls = Array.from({ length: 20 }, (_, n) => [use(`r-${n % 3}`), object(`r-${n % 3}`).destroy()]).flat();
  await Promise.all(calls);
  for (const n of [0, 1, 2]) await object(`r-${n}`).destroy();
  expect(await claims("key:ci")).toEqual([]);
});
