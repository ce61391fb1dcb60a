import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Sandbox } from "../../worker/sandbox";
import { call, exec, status, told, values } from "./calls";
import { evict, type FakeContainer, notListening, withContainer } from "./fake-container";

let rooms = 0;
/** A room of its own for each test. */
const inRoom = (test: (sandbox: Sandbox, container: FakeContainer, state: DurableObjectState) => Promise<void>) =>
  withContainer(`sandbox-executions-${rooms++}`, test);

/** The n-th execution that an agent took, once it has. */
const taken = (container: FakeContainer, n = 0) =>
  vi.waitFor(() => container.agent.all[n] ?? Promise.reject(new Error("not taken yet")), { interval: 1 });
const record = async (sandbox: Sandbox, id: string) => status(await sandbox.record(id));
const ended = (sandbox: Sandbox, id: string) =>
  vi.waitFor(async () => expect(await record(sandbox, id)).not.toBe("running"), { interval: 1 });
const idOf = (reply: Response) => reply.headers.get("roombox-execution") ?? "";
/** Nothing is left running once what was under way has settled. */
const noneRuns = (sandbox: Sandbox) =>
  vi.waitFor(() => expect(values(sandbox.records(1, undefined, "running").fields)).toEqual({}), {
    interval: 5,
    timeout: 3000,
  });

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue(); // faults are logged
  return () => vi.restoreAllMocks();
});

describe("a plain call", () => {
  it("is answered once its record is written", () =>
    inRoom(async (sandbox, container) => {
      const reply = await sandbox.fetch(exec("true"));
      expect(reply.status).toBe(200);
      const stored = await sandbox.record(idOf(reply));
      expect(values(stored.fields)).toMatchObject({ status: "completed", stdout: "true", command: "true" });
      await vi.waitFor(() => expect(container.agent.acknowledged.flat()).toEqual([idOf(reply)]));
    }));

  it("has a record while it runs, with what it has printed so far", () =>
    inRoom(async (sandbox, container) => {
      const reply = sandbox.fetch(exec("hold"));
      const { id } = await taken(container);
      expect(values((await sandbox.record(id)).fields)).toMatchObject({ status: "running", stdout: "so far" });
      expect(values(sandbox.records(5, undefined, "running").fields)).toHaveProperty("record");
      container.agent.end(id);
      expect((await reply).status).toBe(200);
      expect(values(sandbox.records(5, undefined, "running").fields)).toEqual({});
    }));

  it("that could not be run has a record too", () =>
    inRoom(async (sandbox) => {
      const reply = await sandbox.fetch(exec("fail"));
      expect(reply.status).toBe(400);
      expect(await record(sandbox, idOf(reply))).toBe("failed");
    }));

  it("that the agent does not take leaves none", () =>
    inRoom(async (sandbox) => {
      expect(await told(sandbox.fetch(exec("refuse")))).toEqual({ status: 503 });
      expect(values(sandbox.records(5, undefined, undefined).fields)).toEqual({});
    }));

  it("ends when its client leaves", () =>
    inRoom(async (sandbox, container) => {
      const client = new AbortController();
      const reply = sandbox.fetch(exec("hold", { signal: client.signal }));
      const { id } = await taken(container);
      client.abort();
      await reply;
      await ended(sandbox, id);
      expect(await record(sandbox, id)).toBe("cancelled");
    }));

  it("is not run for a client that left while the sandbox started", () =>
    inRoom(async (sandbox, container) => {
      const client = new AbortController();
      const started = Promise.withResolvers<Response>();
      container.reply = (path, init) => (path === "/health" ? started.promise : container.agent.fetch(path, init));
      const reply = sandbox.fetch(exec("true", { signal: client.signal }));
      await vi.waitFor(() => expect(container.running).toBe(true));
      client.abort();
      started.resolve(container.healthy());
      await reply;
      expect(container.sent).toEqual([]);
      expect(values(sandbox.records(5, undefined, undefined).fields)).toEqual({});
    }));
});

describe("by the platform's own call", () => {
  it.each(["plain", "stream"] as const)("a client that leaves a %s call ends it", async (mode) => {
    const name = `sandbox-left-${mode}`;
    const held = Promise.withResolvers<FakeContainer>();
    await withContainer(name, async (_, container) => held.resolve(container));
    const container = await held.promise;
    const client = new AbortController();
    const options = mode === "stream" ? { mode } : {};
    const { url, method, headers, body } = exec("hold", options);
    const reply = env.SANDBOX.getByName(name).fetch(url, { method, headers, body, signal: client.signal });
    const { id } = await taken(container);
    if (mode === "stream") {
      const reader = (await reply).body?.getReader();
      expect(new TextDecoder().decode((await reader?.read())?.value)).toContain("start");
      await reader?.cancel();
    }
    client.abort();
    await reply.catch(() => undefined);
    await vi.waitFor(() => expect(container.agent.acknowledged.flat()).toContain(id));
    await runInDurableObject(env.SANDBOX.getByName(name), async (sandbox: Sandbox) => {
      expect(await record(sandbox, id)).toBe("cancelled");
    });
  });
});

describe("a stream", () => {
  it("is passed through at once, and its record follows", () =>
    inRoom(async (sandbox, container) => {
      const reply = await sandbox.fetch(exec("hold", { mode: "stream" }));
      const { id } = await taken(container);
      expect(await record(sandbox, id)).toBe("running");
      container.agent.end(id);
      expect(await reply.text()).toBe("event: start\n\nevent: exit\n\n");
      await ended(sandbox, id);
    }));
});

describe("a detached call", () => {
  it("is answered at once and ends by itself", () =>
    inRoom(async (sandbox, container, { storage }) => {
      const reply = await sandbox.fetch(exec("hold", { mode: "detach" }));
      expect(reply.status).toBe(202);
      expect(await record(sandbox, idOf(reply))).toBe("running");
      expect(await storage.getAlarm()).not.toBeNull(); // so that the object lives to see its end
      container.agent.end(idOf(reply));
      await ended(sandbox, idOf(reply));
    }));
});

describe("what the agent tells", () => {
  it.each([1, 2, 5, 64])("is understood in chunks of %d bytes", (chunk) =>
    inRoom(async (sandbox, container) => {
      await sandbox.fetch(exec("refuse")); // starts it
      container.agent.chunk = chunk;
      const replies = await Promise.all(["a", "b", "c"].map((cmd) => sandbox.fetch(exec(cmd))));
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(await record(sandbox, idOf(replies[2] as Response))).toBe("completed");
    }),
  );

  it("is told again wherever it broke off, and written once", () =>
    inRoom(async (sandbox, container) => {
      await sandbox.fetch(exec("refuse"));
      const real = container.reply;
      for (let cut = 0; cut < 200; cut += 7) {
        let feeds = 0;
        container.reply = async (path, init) => {
          const reply = await real(path, init);
          return path === "/records" && ++feeds === 1 && reply.body ? new Response(cutAfter(reply.body, cut)) : reply;
        };
        const reply = await sandbox.fetch(exec(`cut ${cut}`));
        expect(await record(sandbox, idOf(reply))).toBe("completed");
        await vi.waitFor(() => expect(container.agent.kept.size).toBe(0), { interval: 1 });
        container.agent.closeFeed();
      }
    }));

  it("is acknowledged in batches while an acknowledgement is under way", () =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      const first = Promise.withResolvers<void>();
      container.reply = async (path, init) => {
        if (path === "/records/stored") await first.promise;
        return real(path, init);
      };
      const replies = await Promise.all(Array.from({ length: 50 }, (_, n) => sandbox.fetch(exec(`${n}`))));
      first.resolve();
      const { agent } = container;
      await vi.waitFor(() => expect(agent.acknowledged.flat().sort()).toEqual(replies.map(idOf).sort()));
      expect(agent.acknowledged).toHaveLength(2);
      expect(agent.feeds).toBe(1);
    }));

  it("is acknowledged again if that failed", () =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      let fails = 1;
      container.reply = (path, init) =>
        path === "/records/stored" && fails-- > 0 ? new Response(null, { status: 500 }) : real(path, init);
      const reply = await sandbox.fetch(exec("true"));
      await vi.waitFor(() => expect(container.agent.acknowledged.flat()).toEqual([idOf(reply)]));
    }));
});

function cutAfter(body: ReadableStream<Uint8Array>, bytes: number): ReadableStream<Uint8Array> {
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (chunk.byteLength <= left) controller.enqueue(chunk);
      else if (left > 0) controller.enqueue(chunk.slice(0, left));
      left -= chunk.byteLength;
      if (left < 0) controller.error(new Error("Network connection lost."));
    },
  });
  return body.pipeThrough(cut);
}

describe("a call about an execution", () => {
  it("goes to the agent while it runs", () =>
    inRoom(async (sandbox, container) => {
      const id = idOf(await sandbox.fetch(exec("hold", { mode: "detach" })));
      const reply = await sandbox.fetch(call(id, "stdin?eof=true", { body: "data" }));
      expect(await reply.json()).toEqual({ verb: "stdin", id });
      expect(container.sent.at(-1)).toBe(`/executions/${id}/stdin?eof=true`);
      expect((await sandbox.fetch(call(id, "kill"))).status).toBe(200);
      await ended(sandbox, id);
      expect(await record(sandbox, id)).toBe("cancelled");
    }));

  it("is answered by its record once it has ended", () =>
    inRoom(async (sandbox) => {
      const id = idOf(await sandbox.fetch(exec("true")));
      expect(await told(sandbox.fetch(call(id, "stdin?eof=true")))).toMatchObject({ name: "ended" });
      expect(await told(sandbox.fetch(call(id, "kill")))).toMatchObject({ name: "ended" });
      expect(await told(sandbox.fetch(call(id, "events")))).toMatchObject({ name: "events", id, stdout: "true" });
    }));

  it("is told when its sandbox's life is over, and by its events how it ended", () =>
    inRoom(async (sandbox, container) => {
      const id = idOf(await sandbox.fetch(exec("hold", { mode: "detach" })));
      container.end();
      await noneRuns(sandbox);
      expect(await told(sandbox.fetch(call(id, "kill")))).toMatchObject({ name: "earlier_life" });
      expect(await told(sandbox.fetch(call(id, "events")))).toMatchObject({
        name: "events",
        status: "failed",
        outcome: "lost",
      });
      expect(container.starts).toBe(1);
    }));

  it("finds none that there never was, and starts nothing for it", () =>
    inRoom(async (sandbox, container) => {
      const id = `exec_${"0".repeat(20)}`;
      for (const verb of ["events", "kill", "stdin?eof=true"] as const) {
        expect(await told(sandbox.fetch(call(id, verb)))).toEqual({ name: "no_execution" });
      }
      expect(await sandbox.record(id)).toEqual({ name: "no_execution" });
      expect(container.starts).toBe(0);
    }));
});

describe("a fault", () => {
  const worksAgain = async (sandbox: Sandbox) => {
    await noneRuns(sandbox);
    expect((await sandbox.fetch(exec("true"))).status).toBe(200);
  };

  it("that kills the agent fails what ran, and the next call has a new one", () =>
    inRoom(async (sandbox, container) => {
      const plain = sandbox.fetch(exec("hold"));
      const detached = idOf(await sandbox.fetch(exec("hold", { mode: "detach" })));
      const { id } = await taken(container);
      container.end();
      expect(await told(plain)).toEqual({ name: "lost" });
      for (const each of [id, detached]) {
        expect(values((await sandbox.record(each)).fields)).toMatchObject({ status: "failed", outcome: "lost" });
      }
      await worksAgain(sandbox);
      expect(container.starts).toBe(2);
    }));

  it("that nobody saw fails what ran once another container starts", () =>
    inRoom(async (sandbox, container) => {
      const id = idOf(await sandbox.fetch(exec("hold", { mode: "detach" })));
      container.running = false; // neither its monitor nor its connections tell
      container.reply = (path, init) => (container.running ? container.agent.fetch(path, init) : notListening());
      expect((await sandbox.fetch(exec("true"))).status).toBe(200);
      expect(await record(sandbox, id)).toBe("failed");
      expect(container.starts).toBe(2);
    }));

  it("between the agent's reply and its record does not leave them at odds", () =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      const hung = new Promise<Response>(() => undefined);
      container.reply = (path, init) => (path === "/records" ? hung : real(path, init));
      const reply = sandbox.fetch(exec("true"));
      const { id } = await taken(container);
      await vi.waitFor(() => expect(container.agent.kept.size).toBe(1));
      container.reply = real;
      container.end();
      expect(await told(reply)).toEqual({ name: "lost" });
      expect(await record(sandbox, id)).toBe("failed");
      await worksAgain(sandbox);
    }));

  const answers: [string, () => Response][] = [
    ["errors", () => new Response(null, { status: 500 })],
    ["what are no records", () => new Response("<html>\n")],
    ["a record of an end that is none", () => new Response(`exec_${"0".repeat(20)} running 0 0\n`)],
    ["a record that breaks off", () => new Response("exec_00 completed 5 5\nabc")],
  ];
  it.each(answers)("of an agent that answers %s for its records ends it", (_, answer) =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      container.reply = (path, init) => (path === "/records" ? answer() : real(path, init));
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ name: "lost" });
      container.reply = real;
      await worksAgain(sandbox);
    }),
  );

  it.each([500, 503])("that the agent tells by %d is told, and leaves no record", (code) =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      container.reply = (path, init) =>
        path === "/executions" ? new Response("garbage", { status: code }) : real(path, init);
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ status: code });
      expect(values(sandbox.records(1, undefined, undefined).fields)).toEqual({});
      container.reply = real;
      await worksAgain(sandbox);
    }),
  );

  it("of the line before the agent had the call leaves no record", () =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      container.reply = (path, init) => {
        if (path === "/executions") throw new Error("Network connection lost.");
        return real(path, init);
      };
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ name: "lost" });
      expect(values(sandbox.records(1, undefined, undefined).fields)).toEqual({});
      container.reply = real;
      await worksAgain(sandbox);
    }));

  it("of an agent that forgets what it runs fails that", () =>
    inRoom(async (sandbox, container) => {
      const id = idOf(await sandbox.fetch(exec("hold", { mode: "detach" })));
      container.agent.executions.delete(id);
      container.agent.closeFeed();
      await worksAgain(sandbox);
      expect(await record(sandbox, id)).toBe("failed");
    }));

  it("that lets a start fail leaves no record", () =>
    inRoom(async (sandbox, container) => {
      const real = container.reply;
      container.reply = notListening;
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ name: "start_timeout" });
      expect(values(sandbox.records(1, undefined, undefined).fields)).toEqual({});
      container.reply = real;
      await worksAgain(sandbox);
    }));
});

describe("an object that was evicted", () => {
  /** Runs one detached, evicts the object, and goes on in a new instance of it. */
  async function evicted(
    meanwhile: (container: FakeContainer, id: string) => void,
    test: (sandbox: Sandbox, container: FakeContainer, id: string) => Promise<void>,
  ) {
    const name = `sandbox-evicted-${rooms++}`;
    const started = Promise.withResolvers<string>();
    await withContainer(name, async (sandbox) => {
      started.resolve(idOf(await sandbox.fetch(exec("hold", { mode: "detach", key: "key" }))));
    });
    const id = await started.promise;
    meanwhile(await evict(name), id);
    await withContainer(name, (sandbox, container) => test(sandbox, container, id));
  }
  const nothing = () => undefined;

  it("goes on reading what the agent tells", () =>
    evicted(nothing, async (sandbox, container, id) => {
      expect(await record(sandbox, id)).toBe("running");
      container.agent.end(id);
      await ended(sandbox, id);
      expect(await record(sandbox, id)).toBe("completed");
    }));

  it("hears what ended meanwhile", () =>
    evicted(
      ({ agent }, id) => agent.end(id),
      async (sandbox, _, id) => {
        await ended(sandbox, id);
        expect(await record(sandbox, id)).toBe("completed");
        expect((await sandbox.fetch(exec("true"))).status).toBe(200);
      },
    ));

  it("finds what ran in a container that ended meanwhile to have failed", () =>
    evicted(
      (container) => {
        container.running = false;
      },
      async (sandbox, container, id) => {
        expect(values((await sandbox.record(id)).fields)).toMatchObject({ status: "failed", outcome: "lost" });
        expect(container.starts).toBe(1);
        expect((await sandbox.fetch(exec("true"))).status).toBe(200);
      },
    ));

  it("knows a key whose execution runs", () =>
    evicted(nothing, async (sandbox, container, id) => {
      const copy = sandbox.fetch(exec("hold", { mode: "detach", key: "key" }));
      expect(await told(copy)).toMatchObject({ name: "result", id });
      expect(container.agent.all).toHaveLength(1);
    }));

  it("lives through the alarm while something runs", () =>
    evicted(nothing, async (sandbox, container, id) => {
      await sandbox.alarm();
      container.agent.end(id);
      await ended(sandbox, id);
    }));
});

describe("a deletion", () => {
  it("ends all that is under way, and nothing is left", () =>
    inRoom(async (sandbox, container, { storage }) => {
      const plain = sandbox.fetch(exec("hold"));
      const { id } = await taken(container);
      const copies = [sandbox.fetch(exec("hold", { key: "k" })), sandbox.fetch(exec("hold", { key: "k" }))];
      await taken(container, 1);
      expect(await sandbox.destroy()).toEqual({ name: "deleted" });
      for (const reply of [plain, ...copies]) expect(await told(reply)).toEqual({ name: "gone" });
      expect(await sandbox.record(id)).toEqual({ name: "no_execution" });
      expect(await told(sandbox.fetch(call(id, "events")))).toEqual({ name: "no_execution" });
      expect(values(sandbox.status().fields)).toMatchObject({ status: "absent" });
      expect(container.starts).toBe(1);
      expect(await storage.getAlarm()).toBeNull();
      expect((await sandbox.fetch(exec("true"))).status).toBe(200);
    }));

  it("against calls, over and over: each is answered, and no container is left behind", () =>
    inRoom(async (sandbox, container) => {
      for (let round = 0; round < 50; round++) {
        const replies = [sandbox.fetch(exec("true")), sandbox.fetch(exec("hold", { mode: "detach" }))];
        if (round % 2) await Promise.resolve();
        if (round % 3) await scheduler.wait(round % 7);
        await sandbox.destroy();
        for (const reply of replies) {
          const answer = await told(reply);
          expect([{ status: 200 }, { status: 202 }, { name: "gone" }]).toContainEqual(answer);
        }
      }
      await sandbox.destroy();
      expect(container.running).toBe(false);
      expect(values(sandbox.records(1, undefined, undefined).fields)).toEqual({});
    }));
});
