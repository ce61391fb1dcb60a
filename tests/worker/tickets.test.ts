import { reset, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { MAX_TICKETS } from "../../worker/tickets";
import { evict, forgetContainers, withContainer } from "./fake-container";

// What tickets leave in storage. What they are good for is in credentials.test.ts.

afterEach(async () => {
  vi.useRealTimers();
  await reset();
  forgetContainers();
});

const GRANT = { scopes: "attach", maker: "key:ci" };
const object = (name: string) => env.SANDBOX.getByName(name);
const stored = (name: string) => runInDurableObject(object(name), (_, { storage }) => [...storage.kv.list()].length);

it("a ticket is forgotten once it has expired, though nobody comes and there is no room", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const expires = Date.now() + 60_000;
  await withContainer("sandbox-left", async (sandbox, _, { storage }) => {
    expect(sandbox.ticket(GRANT).name).toBe("ticket");
    await vi.waitFor(async () => expect(await storage.getAlarm()).toBe(expires));
    vi.setSystemTime(expires - 30_000);
    sandbox.ticket(GRANT);
  });
  for (const left of [1, 0]) {
    vi.setSystemTime(expires + (left ? 0 : 30_000));
    await runInDurableObject(object("sandbox-left"), (sandbox) => sandbox.alarm());
    expect(await stored("sandbox-left")).toBe(left);
  }
});

it("an instance of the object that has made none looks after those of an earlier one", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const expires = Date.now() + 60_000;
  await withContainer("sandbox-earlier", async (sandbox) => {
    sandbox.ticket(GRANT);
  });
  await evict("sandbox-earlier");
  await withContainer("sandbox-earlier", async (sandbox, _, { storage }) => {
    await storage.setAlarm(Date.now() + 3600_000);
    await sandbox.sleep(); // any call
    expect(await storage.getAlarm()).toBe(expires);
  });
});

it("there are so many at a time, until they are used or have expired", () =>
  withContainer("sandbox-full", async (sandbox, _, { storage }) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (let n = 0; n < MAX_TICKETS; n++) expect(sandbox.ticket(GRANT).name).toBe("ticket");
    expect(sandbox.ticket(GRANT)).toEqual({ name: "too_many_tickets" });
    const [key = ""] = [...storage.kv.list()][0] ?? [];
    expect(sandbox.redeem(key.slice("ticket:".length))).toMatchObject(GRANT);
    expect(sandbox.ticket(GRANT).name).toBe("ticket");
    expect(sandbox.ticket(GRANT).name).toBe("too_many_tickets");
    vi.setSystemTime(Date.now() + 60_000);
    expect(sandbox.ticket(GRANT).name).toBe("ticket");
    expect([...storage.kv.list()]).toHaveLength(1);
  }));
