import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Sandbox } from "../../worker/sandbox";
import { exec, told, values } from "./calls";
import { evict, type FakeContainer, withContainer } from "./fake-container";

let rooms = 0;
const inRoom = (test: (sandbox: Sandbox, container: FakeContainer, state: DurableObjectState) => Promise<void>) =>
  withContainer(`sandbox-keys-${rooms++}`, test);
const first = (container: FakeContainer) =>
  vi.waitFor(() => container.agent.all[0] ?? Promise.reject(new Error("not taken yet")), { interval: 1 });
const idOf = (reply: Response) => reply.headers.get("roombox-execution") ?? "";
const runs = (container: FakeContainer) => container.sent.filter((path) => path === "/executions").length;

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue();
  return () => vi.restoreAllMocks();
});

describe("a call with a key", () => {
  it("runs once for 20 copies at once, and all get its result", () =>
    inRoom(async (sandbox, container) => {
      const replies = Array.from({ length: 20 }, () => sandbox.fetch(exec("hold", { key: "k" })));
      const { id } = await first(container);
      container.agent.end(id, "completed", "once");
      const answers = await Promise.all(replies.map(told));
      expect(answers.filter((answer) => "status" in answer && answer.status === 200)).toHaveLength(1);
      const results = answers.filter((answer) => "name" in answer);
      expect(results).toHaveLength(19);
      for (const result of results) expect(result).toMatchObject({ name: "result", id, stdout: "once" });
      expect(runs(container)).toBe(1);
    }));

  it.each(["stream", "detach"] as const)("is told its result also if it is a %s", (mode) =>
    inRoom(async (sandbox, container) => {
      const id = idOf(await sandbox.fetch(exec("true", { key: "k", mode })));
      expect(await told(sandbox.fetch(exec("true", { key: "k", mode })))).toMatchObject({ name: "result", id, mode });
      expect(runs(container)).toBe(1);
    }),
  );

  it("is not waited for if it is detached", () =>
    inRoom(async (sandbox, container) => {
      const options = { key: "k", mode: "detach" } as const;
      const id = idOf(await sandbox.fetch(exec("hold", options)));
      expect(await told(sandbox.fetch(exec("hold", options)))).toMatchObject({ name: "result", id, status: "running" });
      expect(runs(container)).toBe(1);
    }));

  it("is another with another body or dialect", () =>
    inRoom(async (sandbox, container) => {
      const running = sandbox.fetch(exec("hold", { key: "k" }));
      const { id } = await first(container);
      expect(await told(sandbox.fetch(exec("other", { key: "k" })))).toEqual({ name: "key_reused" });
      container.agent.end(id);
      await running;
      expect(await told(sandbox.fetch(exec("other", { key: "k" })))).toEqual({ name: "key_reused" });
      expect(await told(sandbox.fetch(exec("hold", { key: "k", dialect: "v1" })))).toEqual({ name: "key_reused" });
      expect(await told(sandbox.fetch(exec("true", { key: "other" })))).toEqual({ status: 200 });
    }));

  it("that could not be run is told so again", () =>
    inRoom(async (sandbox, container) => {
      expect((await sandbox.fetch(exec("fail", { key: "k" }))).status).toBe(400);
      expect(await told(sandbox.fetch(exec("fail", { key: "k" })))).toMatchObject({ name: "result", status: "failed" });
      expect(runs(container)).toBe(1);
    }));

  it("whose sandbox died is told so again", () =>
    inRoom(async (sandbox, container) => {
      const running = sandbox.fetch(exec("hold", { key: "k" }));
      await first(container);
      const copy = sandbox.fetch(exec("hold", { key: "k" }));
      container.end();
      expect(await told(running)).toEqual({ name: "lost" });
      expect(await told(copy)).toMatchObject({ name: "result", status: "failed", outcome: "lost" });
      expect(runs(container)).toBe(1);
    }));

  it("that the agent did not take may be made again", () =>
    inRoom(async (sandbox, container) => {
      const replies = Array.from({ length: 5 }, () => sandbox.fetch(exec("refuse", { key: "k" })));
      for (const reply of replies) expect(await told(reply)).toEqual({ status: 503 });
      expect(runs(container)).toBe(5);
      expect(await told(sandbox.fetch(exec("true", { key: "k" })))).toEqual({ status: 200 });
    }));

  it("that no sandbox could be started for tells all copies, and may be made again", () =>
    inRoom(async (sandbox, container) => {
      const start = vi.spyOn(container, "start").mockImplementation(() => {
        throw new Error("start() cannot be called now");
      });
      const replies = Array.from({ length: 5 }, () => sandbox.fetch(exec("true", { key: "k" })));
      for (const reply of replies) expect(await told(reply)).toEqual({ name: "start_failed" });
      expect(start).toHaveBeenCalledTimes(1);
      start.mockRestore();
      expect(await told(sandbox.fetch(exec("true", { key: "k" })))).toEqual({ status: 200 });
    }));

  it("whose client left before it ran is run for a copy", () =>
    inRoom(async (sandbox, container) => {
      const started = Promise.withResolvers<Response>();
      container.reply = (path, init) => (path === "/health" ? started.promise : container.agent.fetch(path, init));
      const client = new AbortController();
      const left = sandbox.fetch(exec("true", { key: "k", signal: client.signal }));
      const copy = sandbox.fetch(exec("true", { key: "k" }));
      await vi.waitFor(() => expect(container.running).toBe(true));
      client.abort();
      started.resolve(container.healthy());
      await left;
      expect(await told(copy)).toEqual({ status: 200 });
      expect(runs(container)).toBe(1);
    }));

  it("is never run twice, even when its record is gone", () =>
    inRoom(async (sandbox, container, { storage }) => {
      await sandbox.fetch(exec("true", { key: "k" }));
      storage.sql.exec("DELETE FROM executions"); // as a thousand later ones would
      expect(await told(sandbox.fetch(exec("true", { key: "k" })))).toEqual({ name: "key_spent" });
      expect(runs(container)).toBe(1);
    }));

  it("is another in the room's next life", () =>
    inRoom(async (sandbox, container) => {
      await sandbox.fetch(exec("true", { key: "k" }));
      await sandbox.destroy();
      expect(await told(sandbox.fetch(exec("other", { key: "k" })))).toEqual({ status: 200 });
      expect(runs(container)).toBe(2);
    }));
});

it("a call with a key is waited for by copies in a later instance of the object", async () => {
  const name = "sandbox-keys-evicted";
  const taken = Promise.withResolvers<string>();
  await withContainer(name, async (sandbox, container) => {
    sandbox.fetch(exec("hold", { key: "k" })).catch(() => undefined);
    taken.resolve((await first(container)).id);
  });
  const id = await taken.promise;
  await evict(name);
  await withContainer(name, async (sandbox, container) => {
    const copies = Array.from({ length: 20 }, () => sandbox.fetch(exec("hold", { key: "k" })));
    expect(await told(sandbox.fetch(exec("other", { key: "k" })))).toEqual({ name: "key_reused" });
    container.agent.end(id, "completed", "once");
    for (const copy of copies) expect(await told(copy)).toMatchObject({ name: "result", id, stdout: "once" });
    expect(runs(container)).toBe(1);
    expect(values(sandbox.records(5, undefined, undefined).fields)).not.toHaveProperty("cursor");
  });
});
