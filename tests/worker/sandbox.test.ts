import { env, exports } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { outcomeName } from "../../worker/outcome";
import { exec } from "./calls";
import { containerOf, notListening, withContainer } from "./fake-container";

// Faults of the platform that a real engine cannot be asked for. What it can be asked for is in tests/e2e.

const request = () => new Request("http://sandbox/executions", { method: "POST", body: '{"cmd":"true"}' });
const outcome = async (reply: Promise<Response>) => outcomeName(await reply);

it("starts one container for all first calls", () =>
  withContainer("sandbox-one", async (sandbox, container) => {
    const replies = await Promise.all(Array.from({ length: 100 }, () => sandbox.fetch(request())));
    expect(replies.every((reply) => reply.ok && !outcomeName(reply))).toBe(true);
    expect(container.starts).toBe(1);
  }));

it("knocks until the agent listens", () =>
  withContainer("sandbox-knock", async (sandbox, container) => {
    let knocks = 0;
    container.reply = () => (++knocks < 5 ? notListening() : container.healthy());
    expect(await outcome(sandbox.fetch(request()))).toBeUndefined();
    expect(container.sent).toEqual(["/executions"]);
  }));

it("stops waiting for an agent that never listens, and lets the next call try", () =>
  withContainer("sandbox-slow", async (sandbox, container) => {
    container.reply = notListening;
    expect(await outcome(sandbox.fetch(request()))).toBe("start_timeout");
    container.reply = () => container.healthy();
    expect(await outcome(sandbox.fetch(request()))).toBeUndefined();
    expect(container.starts).toBe(1);
  }));

it("stops waiting for a platform that never gets the container going", () =>
  withContainer("sandbox-stuck", async (sandbox, container) => {
    container.reply = () => new Promise(() => undefined);
    expect(await outcome(sandbox.fetch(request()))).toBe("start_timeout");
  }));

it("tells a full house from a start that failed", () =>
  withContainer("sandbox-full", async (sandbox, container) => {
    vi.spyOn(console, "error").mockReturnValue();
    container.reply = () => {
      container.end();
      throw new Error("There is no container instance that can be provided to this durable object");
    };
    expect(await outcome(sandbox.fetch(request()))).toBe("at_capacity");
    container.reply = () => {
      container.end();
      throw new Error("Container failed to start");
    };
    expect(await outcome(sandbox.fetch(request()))).toBe("start_failed");
  }));

it("survives a platform that refuses to start a container", () =>
  withContainer("sandbox-refused", async (sandbox, container) => {
    vi.spyOn(console, "error").mockReturnValue();
    const start = vi.spyOn(container, "start").mockImplementation(() => {
      throw new Error("start() cannot be called now");
    });
    expect(await outcome(sandbox.fetch(request()))).toBe("start_failed");
    start.mockRestore();
    expect(await outcome(sandbox.fetch(request()))).toBeUndefined();
  }));

it("sends again what a container that had died did not take", () =>
  withContainer("sandbox-died", async (sandbox, container) => {
    await sandbox.fetch(request());
    container.reply = () => {
      container.reply = () => container.healthy();
      container.end();
      return notListening();
    };
    expect(await outcome(sandbox.fetch(request()))).toBeUndefined();
    expect(container.starts).toBe(2);
  }));

it("does not send again what was taken", () =>
  withContainer("sandbox-lost", async (sandbox, container) => {
    vi.spyOn(console, "error").mockReturnValue();
    await sandbox.fetch(request());
    container.reply = () => {
      throw new Error("Network connection lost.");
    };
    expect(await outcome(sandbox.fetch(request()))).toBe("lost");
    expect(container.sent.filter((path) => path === "/executions")).toHaveLength(2);
  }));

it("starts nothing for a call that began before a deletion", () =>
  withContainer("sandbox-gone", async (sandbox, container) => {
    container.reply = notListening;
    const waiting = sandbox.fetch(request());
    await vi.waitFor(() => expect(container.running).toBe(true));
    const deletions = await Promise.all([sandbox.destroy(), sandbox.destroy()]);
    expect(deletions.map(({ name }) => name)).toEqual(["deleted", "deleted"]);
    expect((await sandbox.destroy()).name).toBe("absent");
    expect(await outcome(waiting)).toBe("gone");
    expect(container.starts).toBe(1);
    expect(container.running).toBe(false);
  }));

it("remembers nothing of a deleted room", () =>
  withContainer("sandbox-wiped", async (sandbox, _, state) => {
    await sandbox.fetch(request());
    expect([...state.storage.kv.list()].length).toBeGreaterThan(0);
    await sandbox.destroy();
    expect([...state.storage.kv.list()]).toEqual([]);
  }));

it("has a fresh instance of the object try where the platform does not start a container, once", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  const container = containerOf(env.SANDBOX.idFromName("sandbox-stale"));
  const real = container.reply;
  let failures = 1;
  container.reply = (path, init) => {
    if (failures-- <= 0) return real(path, init);
    container.end();
    throw new Error("Container failed to start");
  };
  const run = () =>
    exports.default.fetch("http://localhost/api/rooms/stale/sandbox/exec", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"cmd":"true"}',
    });
  expect((await run()).status).toBe(200);
  expect(container.starts).toBe(2);
  await withContainer("sandbox-stale", async () => container.end());
  failures = Number.POSITIVE_INFINITY;
  expect((await run()).status).toBe(500);
  expect(container.starts).toBe(4);
});

it("tells calls that end with an instance of the object what became of them, however many times that is", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  const container = containerOf(env.SANDBOX.idFromName("sandbox-broken"));
  container.reply = async () => {
    await scheduler.wait(5); // so that others wait for this start too
    container.end();
    throw new Error("Container failed to start");
  };
  const call = async (method: string, path: string, body: string) => {
    const headers = { "content-type": "application/json" };
    const init = { method, headers, body };
    return (await exports.default.fetch(`http://localhost/api/rooms/broken/sandbox/${path}`, init)).json();
  };
  const calls = Array.from({ length: 12 }, async (_, i) => {
    await scheduler.wait(i * 3);
    return i % 3 > 0 ? call("POST", "exec", '{"cmd":"true"}') : call("PUT", "files/workspace/a", "bytes");
  });
  for (const answer of await Promise.all(calls)) expect(answer).toMatchObject({ code: "execution_failed" });
});

it("runs no more commands at once than a room may, and more when some have ended", () =>
  withContainer("sandbox-many", async (sandbox, container) => {
    const replies = await Promise.all(
      Array.from({ length: 160 }, () => sandbox.fetch(exec("hold", { mode: "detach" }))),
    );
    expect(replies.filter((reply) => reply.status === 202)).toHaveLength(150);
    expect(replies.filter((reply) => outcomeName(reply) === "too_many_executions")).toHaveLength(10);
    for (const { id } of container.agent.all) container.agent.end(id);
    await vi.waitFor(async () => expect((await sandbox.fetch(exec("true"))).status).toBe(200));
  }));
