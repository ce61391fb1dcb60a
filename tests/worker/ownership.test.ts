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
import { createRoom } from "../../worker/rooms";
import { exec, told } from "./calls";
import { containerOf, forgetContainers } from "./fake-container";

// How many rooms a key may have at once: three, by vitest.config.ts.

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue();
  vi.spyOn(console, "log").mockReturnValue();
});
afterEach(async () => {
  vi.restoreAllMocks();
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
