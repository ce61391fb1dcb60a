import { reset, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Sandbox } from "../../worker/sandbox";
import { call, exec, told, values } from "./calls";
import { containerOf, evict, forgetContainers, withContainer } from "./fake-container";

// When a room sleeps, what it keeps, and who wins where calls meet a sleep. Real sleep is in tests/e2e.

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3600_000;

// From now on: alarms go by the real clock, and an alarm in its past would come at once.
beforeEach(() => vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(async () => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  await reset();
  forgetContainers();
});

const pass = (ms: number) => vi.setSystemTime(Date.now() + ms);
/** What the alarm does that the object has set. */
const look = (name: string) => runDurableObjectAlarm(env.SANDBOX.getByName(name));
const alarmOf = (name: string) =>
  runInDurableObject(env.SANDBOX.getByName(name), (_, { storage }) => storage.getAlarm());
const room = (sandbox: Sandbox) => values(sandbox.status().fields);
const failing = () => Promise.reject(new Error("no space left on the host"));

describe("a room that nobody uses", () => {
  const idle = (name: string) =>
    withContainer(name, async (sandbox) => {
      await sandbox.fetch(exec("true"));
    });

  it("sleeps: its files are saved, its container ends, and the next call starts one from them", async () => {
    await idle("sandbox-sleeps");
    pass(10 * MINUTE_MS);
    await look("sandbox-sleeps");
    await withContainer("sandbox-sleeps", async (sandbox, container) => {
      expect(container.running).toBe(false);
      expect(room(sandbox)).toMatchObject({ status: "asleep", snapshot_ms: `${Date.now()}`, snapshot_bytes: "1000" });
      expect(container.options).toMatchObject({ image: "image", enableInternet: false });
      await sandbox.fetch(exec("true"));
      expect(container.options).toMatchObject({ containerSnapshot: { id: "snapshot-1" } });
      expect(container.options).not.toHaveProperty("image");
      expect(room(sandbox).status).toBe("running");
    });
  });

  it("is looked at again no sooner than it may sleep, and kept by the platform until then", async () => {
    await idle("sandbox-alarm");
    expect(await alarmOf("sandbox-alarm")).toBe(Date.now() + 5 * MINUTE_MS);
    pass(5 * MINUTE_MS);
    await look("sandbox-alarm");
    expect(await alarmOf("sandbox-alarm")).toBe(Date.now() + 5 * MINUTE_MS);
    await withContainer("sandbox-alarm", async (_, container) => {
      expect(container.running).toBe(true);
      expect(container.kept).toEqual([15 * MINUTE_MS, 15 * MINUTE_MS]);
    });
  });

  it("does not sleep for reads of its status and records, and these do not keep it awake", async () => {
    let id = "";
    await withContainer("sandbox-read", async (sandbox) => {
      id = (await sandbox.fetch(exec("true"))).headers.get("roombox-execution") ?? "";
    });
    pass(9 * MINUTE_MS);
    await withContainer("sandbox-read", async (sandbox) => {
      sandbox.status();
      sandbox.records(10, undefined, undefined);
      await sandbox.record(id);
      expect(await told(sandbox.fetch(call(id, "events")))).toMatchObject({ name: "events" });
    });
    pass(MINUTE_MS);
    await look("sandbox-read");
    await withContainer("sandbox-read", async (sandbox, container) => {
      expect(container.running).toBe(false);
      sandbox.status();
      await sandbox.sessions();
      expect(sandbox.records(10, undefined, undefined).fields?.byteLength).toBeGreaterThan(0);
      expect(container.starts).toBe(1);
    });
  });

  it("is in use while a command runs, from its start to its end", async () => {
    await withContainer("sandbox-busy", async (sandbox, container) => {
      await sandbox.fetch(exec("hold", { mode: "detach" }));
      expect(container.agent.all).toHaveLength(1);
    });
    pass(30 * MINUTE_MS);
    await look("sandbox-busy");
    await withContainer("sandbox-busy", async (sandbox, container) => {
      expect(container.running).toBe(true);
      container.agent.end(container.agent.all[0]?.id ?? "");
      await vi.waitFor(() => expect(values(sandbox.records(1, undefined, "running").fields)).toEqual({}));
    });
    pass(9 * MINUTE_MS);
    await look("sandbox-busy");
    await withContainer("sandbox-busy", async (_, container) => expect(container.running).toBe(true));
    pass(MINUTE_MS);
    await look("sandbox-busy");
    await withContainer("sandbox-busy", async (_, container) => expect(container.running).toBe(false));
  });

  it("is in use while its agent has something open", async () => {
    await idle("sandbox-open");
    await withContainer("sandbox-open", async (_, container) => {
      container.agent.connections = 1;
    });
    pass(10 * MINUTE_MS);
    await look("sandbox-open");
    await withContainer("sandbox-open", async (_, container) => {
      expect(container.running).toBe(true);
      container.agent.connections = 0;
    });
    pass(10 * MINUTE_MS);
    await look("sandbox-open");
    await withContainer("sandbox-open", async (_, container) => expect(container.running).toBe(false));
  });

  it("sleeps also when its object was put away meanwhile", async () => {
    await idle("sandbox-evicted");
    const container = await evict("sandbox-evicted");
    pass(10 * MINUTE_MS + 10_000);
    await look("sandbox-evicted");
    expect(container.running).toBe(false);
    expect(container.snapshots).toHaveLength(1);
  });

  it("does not sleep too soon for that", async () => {
    await idle("sandbox-once");
    const container = await evict("sandbox-once");
    for (let minute = 0; minute < 10; minute += 5) {
      await look("sandbox-once");
      expect(container.running).toBe(true);
      pass(5 * MINUTE_MS);
    }
  });

  it("never sleeps where it was told so, and is looked at all the same", async () => {
    await idle("sandbox-never");
    await withContainer("sandbox-never", async (sandbox) => {
      expect((await sandbox.sleepAfter(0)).name).toBe("timeout_set");
      expect(room(sandbox).sleep_after_ms).toBe("0");
    });
    for (let i = 0; i < 3; i++) {
      pass(60 * MINUTE_MS);
      await look("sandbox-never");
    }
    await withContainer("sandbox-never", async (_, container) => {
      expect(container.running).toBe(true);
      expect(container.kept).toHaveLength(4);
    });
  });

  it("is saved anew before the platform forgets what it keeps", async () => {
    await idle("sandbox-renewed");
    await withContainer("sandbox-renewed", async (sandbox) => {
      await sandbox.sleep();
    });
    pass(20 * DAY_MS);
    await look("sandbox-renewed");
    await withContainer("sandbox-renewed", async (sandbox, container) => {
      expect(container.starts).toBe(2);
      expect(container.options).toMatchObject({ containerSnapshot: { id: "snapshot-1" } });
      expect(room(sandbox)).toMatchObject({ status: "asleep", snapshot_ms: `${Date.now()}` });
      expect(await alarmOf("sandbox-renewed")).toBe(Date.now() + 20 * DAY_MS);
    });
  });
});

it("does not try every now and then to renew what cannot be restored", async () => {
  vi.spyOn(console, "error").mockReturnValue();
  await withContainer("sandbox-expired", async (sandbox, container) => {
    await sandbox.fetch(exec("true"));
    await sandbox.sleep();
    container.reply = () => {
      container.end();
      return Promise.reject(new Error("Container is not listening to port 8080"));
    };
  });
  pass(20 * DAY_MS);
  await look("sandbox-expired");
  expect(await alarmOf("sandbox-expired")).toBe(Date.now() + DAY_MS);
  await withContainer("sandbox-expired", async (sandbox, container) => {
    expect(room(sandbox).status).toBe("asleep");
    expect(container.starts).toBe(2);
  });
});

describe("a save that fails", () => {
  it("leaves the room awake, is told, and is tried again", async () => {
    vi.spyOn(console, "error").mockReturnValue();
    await withContainer("sandbox-unsaved", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      container.snapshotContainer = failing;
    });
    pass(10 * MINUTE_MS);
    await look("sandbox-unsaved");
    await withContainer("sandbox-unsaved", async (sandbox, container) => {
      expect(room(sandbox)).toMatchObject({ status: "running", sleep_error: "failed" });
      expect(await alarmOf("sandbox-unsaved")).toBe(Date.now() + 15_000);
      container.snapshotContainer = async () => ({ id: "at last", size: 1 });
    });
    pass(15_000);
    await look("sandbox-unsaved");
    await withContainer("sandbox-unsaved", async (sandbox, container) => {
      expect(room(sandbox)).toMatchObject({ status: "asleep", snapshot_bytes: "1" });
      expect(room(sandbox).sleep_error).toBeUndefined();
      expect(container.running).toBe(false);
    });
  });

  it("is told to who asked for it", () =>
    withContainer("sandbox-asked", async (sandbox, container) => {
      vi.spyOn(console, "error").mockReturnValue();
      await sandbox.fetch(exec("true"));
      container.snapshotContainer = failing;
      expect((await sandbox.sleep()).name).toBe("sleep_failed");
      container.snapshotContainer = undefined;
      expect((await sandbox.sleep()).name).toBe("sleep_failed");
      expect(room(sandbox)).toMatchObject({ status: "running", sleep_error: "unsupported" });
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ status: 200 });
    }));

  it("keeps the files that were saved before", () =>
    withContainer("sandbox-before", async (sandbox, container) => {
      vi.spyOn(console, "error").mockReturnValue();
      await sandbox.fetch(exec("true"));
      await sandbox.sleep();
      await sandbox.fetch(exec("true"));
      container.snapshotContainer = failing;
      expect((await sandbox.sleep()).name).toBe("sleep_failed");
      container.end();
      await sandbox.fetch(exec("true"));
      expect(container.options).toMatchObject({ containerSnapshot: { id: "snapshot-1" } });
    }));
});

describe("a room that is told to sleep", () => {
  it("kills what runs, tells who waits for it, and sleeps", () =>
    withContainer("sandbox-told", async (sandbox, container) => {
      const waiting = sandbox.fetch(exec("hold"));
      await vi.waitFor(() => expect(container.agent.all).toHaveLength(1));
      expect(values((await sandbox.sleep()).fields).status).toBe("asleep");
      expect(await told(waiting)).toEqual({ status: 200 });
      expect(values(sandbox.records(1, undefined, undefined).fields).record).toContain("cancelled");
      expect(container.snapshots).toHaveLength(1);
    }));

  it("loses nothing that is begun just then: it is killed, or runs in the next container", () =>
    withContainer("sandbox-just", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      const ends = new Set<string>();
      for (let ticks = 0; ticks < 30; ticks++) {
        const begun = sandbox.fetch(exec("hold"));
        for (let tick = 0; tick < ticks; tick++) await (tick % 3 ? Promise.resolve() : scheduler.wait(0));
        const { starts } = container;
        await sandbox.sleep();
        const id = await vi.waitFor(() => {
          container.agent.end(container.agent.all[0]?.id ?? "");
          return Promise.race([begun, Promise.reject(new Error("it runs"))]);
        });
        expect(await told(id)).toEqual({ status: 200 });
        ends.add(container.starts > starts ? "next" : "killed");
      }
      expect([...ends].sort()).toEqual(["killed", "next"]);
    }));

  it("is as it was where it sleeps or was never there", () =>
    withContainer("sandbox-twice", async (sandbox, container) => {
      expect(values((await sandbox.sleep()).fields).status).toBe("absent");
      await sandbox.fetch(exec("true"));
      const both = await Promise.all([sandbox.sleep(), sandbox.sleep()]);
      expect(both.map(({ fields }) => values(fields).status)).toEqual(["asleep", "asleep"]);
      expect(container.snapshots).toHaveLength(1);
      expect(container.starts).toBe(1);
    }));

  it("has calls that come meanwhile wait, and wakes for them", () =>
    withContainer("sandbox-meanwhile", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      const saved = Promise.withResolvers<ContainerSnapshot>();
      container.snapshotContainer = () => saved.promise;
      const sleeping = sandbox.sleep();
      const early = sandbox.fetch(exec("true"));
      saved.resolve({ id: "saved", size: 1 });
      await sleeping;
      expect(await told(early)).toEqual({ status: 200 });
      expect(container.starts).toBe(2);
      expect(container.options).toMatchObject({ containerSnapshot: { id: "saved" } });
    }));

  it("wakes by request, and not where there is no room", () =>
    withContainer("sandbox-woken", async (sandbox, container) => {
      expect(values((await sandbox.wake()).fields).status).toBe("absent");
      expect(container.starts).toBe(0);
      await sandbox.fetch(exec("true"));
      await sandbox.sleep();
      expect(values((await sandbox.wake(5000)).fields)).toMatchObject({ status: "running", sleep_after_ms: "5000" });
    }));
});

describe("who wins", () => {
  it("a call that comes while files are saved: the room stays awake", async () => {
    const saved = Promise.withResolvers<ContainerSnapshot>();
    await withContainer("sandbox-caller", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      container.snapshotContainer = () => saved.promise;
    });
    pass(10 * MINUTE_MS);
    const looked = look("sandbox-caller");
    await withContainer("sandbox-caller", async (sandbox) => {
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ status: 200 });
    });
    saved.resolve({ id: "saved", size: 1 });
    await looked;
    await withContainer("sandbox-caller", async (_, container) => {
      expect(container.running).toBe(true);
      expect(container.starts).toBe(1);
    });
  });

  it("a deletion, over a save that is under way", () =>
    withContainer("sandbox-deleted", async (sandbox, container, state) => {
      await sandbox.fetch(exec("true"));
      const saved = Promise.withResolvers<ContainerSnapshot>();
      container.snapshotContainer = () => saved.promise;
      const sleeping = sandbox.sleep();
      await vi.waitFor(async () => expect(container.running).toBe(true));
      expect((await sandbox.destroy()).name).toBe("deleted");
      saved.resolve({ id: "late", size: 1 });
      expect((await sleeping).name).toBe("gone");
      expect([...state.storage.kv.list()]).toEqual([]);
      await sandbox.fetch(exec("true"));
      expect(container.options).toMatchObject({ image: "image" });
    }));

  it("the container that runs, over the late end of one before it", () =>
    withContainer("sandbox-late", async (sandbox, container) => {
      await sandbox.fetch(exec("true"));
      const late = Promise.withResolvers<void>();
      vi.spyOn(container, "monitor").mockReturnValue(late.promise);
      await sandbox.sleep();
      await sandbox.fetch(exec("true")); // watched by the promise above
      vi.spyOn(container, "monitor").mockReturnValue(new Promise(() => undefined));
      await sandbox.sleep();
      await sandbox.fetch(exec("hold", { mode: "detach" }));
      late.reject(new Error("the one before has ended"));
      await scheduler.wait(0);
      expect(values(sandbox.records(1, undefined, "running").fields).record).toContain("hold");
    }));

  it("an agent of another boot is not taken for the one that was started", () =>
    withContainer("sandbox-boot", async (sandbox, container) => {
      let knocks = 0;
      const real = container.reply;
      container.reply = (path, init) => {
        if (path !== "/health" || ++knocks > 2) return real(path, init);
        return new Response("ok", { headers: { "roombox-boot": "an earlier one" } });
      };
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ status: 200 });
      expect(knocks).toBe(3);
    }));

  it("nothing is started empty in place of files that cannot be restored", () =>
    withContainer("sandbox-unrestored", async (sandbox, container) => {
      vi.spyOn(console, "error").mockReturnValue();
      await sandbox.fetch(exec("true"));
      await sandbox.sleep();
      const real = container.reply;
      container.reply = () => {
        container.end();
        return Promise.reject(new Error("Container is not listening to port 8080"));
      };
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ name: "restore_failed" });
      container.reply = real;
      expect(await told(sandbox.fetch(exec("true")))).toEqual({ status: 200 });
      expect(container.options).toMatchObject({ containerSnapshot: { id: "snapshot-1" } });
    }));
});

it("forgets what was saved with the room", () =>
  withContainer("sandbox-forgets", async (sandbox, container) => {
    await sandbox.fetch(exec("true"));
    await sandbox.sleep();
    expect((await sandbox.destroy()).name).toBe("deleted");
    expect(room(sandbox)).toEqual({ sandbox: "sandbox-forgets", status: "absent" });
    await sandbox.fetch(exec("true"));
    expect(container.options).toMatchObject({ image: "image" });
    expect(containerOf(env.SANDBOX.idFromName("sandbox-forgets")).starts).toBe(2);
  }));
