import { Sandbox } from "@opencomputer/sdk";
import { beforeAll, describe, expect, it } from "vitest";
import {
  call,
  callJson,
  containerOf,
  detach,
  docker,
  exec,
  executionPath,
  newRoom,
  origin,
  record,
  remove,
  sandboxContainers,
} from "./client";

const ROUNDS = Number(process.env.SLEEP_ROUNDS ?? 20);

const path = (room: string) => `/api/rooms/${room}`;
const status = (room: string) => callJson(200, "GET", path(room));
const sleep = (room: string) => callJson(200, "POST", `${path(room)}/sleep`);
/** Has a room sleep once it is unused for so long. */
async function sleepsAfter(room: string, seconds: number): Promise<void> {
  const reply = await call("POST", `/api/sandboxes/${room}/timeout`, { timeout: seconds });
  expect(reply.status).toBe(204);
}
/** Settles once a room sleeps of itself. Nothing tells that but its status. */
async function asleep(room: string): Promise<void> {
  while ((await status(room)).status !== "asleep") await new Promise((resolve) => setTimeout(resolve, 50));
}

// The platform puts an object away that nobody calls, after some 80 s here, and with it ends a container that it was not told
// to keep. A room is left alone from here on, and looked at last.
const LEFT_ALONE_MS = 110_000;
const alone = newRoom();
let aloneSince = 0;
beforeAll(async () => {
  await exec(alone, "echo unsaved > file; setsid sleep 998 >/dev/null 2>&1 &");
  aloneSince = performance.now();
});

it(`keeps files, what was installed, and records over ${ROUNDS} sleeps, and runs no container meanwhile`, async () => {
  const room = newRoom();
  const install =
    "python3 -m venv --without-pip ~/venv && git init -q project && cd project && git config user.email a@b.c && git config user.name n";
  expect((await exec(room, install)).exitCode).toBe(0);
  await exec(
    room,
    "head -c 3000000 /dev/urandom > data; sha256sum data > data.sum; ln -s data link; chmod 751 data; mkfifo pipe",
  );
  const container = await containerOf(room);
  const running = () => docker("ps", "--quiet", "--filter", `name=^/${container}$`);
  for (let round = 1; round <= ROUNDS; round++) {
    const written = await exec(
      room,
      `echo ${round} >> rounds && cd project && echo ${round} > file && git add . && git commit -qm ${round}`,
    );
    expect(written).toMatchObject({ exitCode: 0, stderr: "" });
    expect(running()).not.toBe("");
    expect(await sleep(room)).toMatchObject({ status: "asleep", snapshot: { bytes: expect.any(Number) } });
    expect(running()).toBe("");
    expect(await record(room, written.id)).toEqual(written); // and nothing wakes for it
    expect(running()).toBe("");
    const check =
      "wc -l < rounds && git -C project log --oneline | wc -l && sha256sum -c data.sum && stat -c %a,%U data && ls pipe link";
    expect(await exec(room, check)).toMatchObject({
      stdout: `${round}\n${round}\ndata: OK\n751,sandbox\nlink\npipe\n`,
    });
    expect((await exec(room, "~/venv/bin/python -c 'print(6*7)'")).stdout).toBe("42\n");
  }
  expect(await remove(room)).toMatchObject({ deleted: true });
  expect((await exec(room, "ls -A")).stdout).toBe(""); // no snapshot of an earlier life
}, 300_000);

describe("a room that is unused for its time", () => {
  it("sleeps, and wakes for a command with its variables and files", async () => {
    const room = newRoom();
    await exec(room, "echo kept > file");
    await sleepsAfter(room, 1);
    await asleep(room);
    const { lastActiveAt } = await status(room);
    const kept = await callJson(200, "GET", `${path(room)}/sandbox/executions`);
    expect(kept.executions).toHaveLength(1);
    expect(await status(room)).toMatchObject({ status: "asleep", lastActiveAt, sleepAfterMs: 1000, sleepError: null });
    expect((await exec(room, "cat file")).stdout).toBe("kept\n");
    expect((await status(room)).status).toBe("running");
  });

  it("finishes a command that takes longer, and sleeps only then", async () => {
    const room = newRoom();
    await exec(room, "true");
    await sleepsAfter(room, 1);
    expect(await exec(room, "sleep 4; echo done")).toMatchObject({ stdout: "done\n", status: "completed" });
    expect((await status(room)).status).toBe("running");
    const id = await detach(room, "sleep 4; echo detached");
    await asleep(room);
    expect(await record(room, id)).toMatchObject({ stdout: "detached\n", status: "completed" });
  });

  it("stays awake for a connection to a server in it", async () => {
    const room = newRoom();
    await detach(
      room,
      "mkdir -p www && cd www && head -c 50000000 /dev/zero > big && exec python3 -m http.server 3000",
    );
    const reply = await call("GET", `${path(room)}/sandbox/ports/3000/big?wait_ms=10000`);
    expect(reply.status).toBe(200);
    const { executions } = await callJson(200, "GET", `${path(room)}/sandbox/executions?status=running`);
    await exec(room, "pgrep -f http.server | head -n 1"); // it runs
    await sleepsAfter(room, 1);
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect((await status(room)).status).toBe("running");
    expect((await reply.arrayBuffer()).byteLength).toBe(50_000_000);
    await call("POST", `${executionPath(room, executions[0].id)}/kill`);
    await asleep(room);
  });
});

describe("sleep by request", () => {
  it("ends what runs, and says so in its record", async () => {
    const room = newRoom();
    const id = await detach(room, "echo begun; sleep 996");
    const waiting = exec(room, "sleep 997");
    while ((await exec(room, "pgrep -x sleep | wc -l")).stdout !== "2\n");
    expect(await sleep(room)).toMatchObject({ status: "asleep" });
    expect(await waiting).toMatchObject({ status: "cancelled", signal: "SIGKILL" });
    expect(await record(room, id)).toMatchObject({ status: "cancelled", stdout: "begun\n" });
    expect((await exec(room, "pgrep -x sleep | wc -l")).stdout).toBe("0\n");
  });

  it("has calls wait that come meanwhile, and none of them fails", async () => {
    const room = newRoom();
    await exec(room, "true");
    for (let round = 0; round < 5; round++) {
      const calls = Array.from({ length: 5 }, (_, i) => exec(room, `echo ${i}`));
      const [slept, ...results] = await Promise.all([call("POST", `${path(room)}/sleep`), ...calls]);
      expect(slept.status).toBe(200);
      for (const [i, result] of results.entries()) {
        if (result.status === "completed") expect(result.stdout).toBe(`${i}\n`);
        else expect(result.status).toBe("cancelled");
      }
    }
    expect(sandboxContainers().length).toBeGreaterThan(0);
  });

  it("loses no file of a command that it has let finish, however many sleeps and commands come at once", async () => {
    const room = newRoom();
    await exec(room, "true");
    for (let round = 0; round < 12; round++) {
      const later = () => new Promise((resolve) => setTimeout(resolve, (Math.random() * round * 150) / 12));
      const sleeps = Array.from({ length: 5 }, async () => {
        await later();
        return (await call("POST", `${path(room)}/sleep`)).status;
      });
      const names = Array.from({ length: 12 }, (_, i) => `${round}-${i}`);
      const written = names.map(async (name) => {
        await later();
        return { name, status: (await exec(room, `echo x > ${name}`)).status }; // anything but 200 throws
      });
      expect(new Set(await Promise.all(sleeps))).toEqual(new Set([200]));
      const done = (await Promise.all(written)).filter(({ status }) => status === "completed").map(({ name }) => name);
      await sleep(room);
      const { stdout } = await exec(room, "ls");
      expect(done.filter((name) => !stdout.split("\n").includes(name))).toEqual([]);
    }
  });

  it("leaves nothing of an upload that it cuts, and says so", async () => {
    const room = newRoom();
    await exec(room, "true");
    // Nothing is on its way while it is answered: the proxies of wrangler dev lose answers to bodies that still come.
    let end = () => {};
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new Uint8Array(1000));
        end = () => controller.close();
      },
    });
    const upload = fetch(`${origin()}${path(room)}/sandbox/files/workspace/big`, {
      method: "PUT",
      body,
      duplex: "half",
    } as RequestInit);
    while ((await exec(room, "ls -A")).stdout === ""); // it has begun
    expect(await sleep(room)).toMatchObject({ status: "asleep" });
    const reply = await upload;
    end();
    expect([reply.status, await reply.json()]).toEqual([
      503,
      expect.objectContaining({ error: expect.stringContaining("put to sleep") }),
    ]);
    expect((await exec(room, "ls -A")).stdout).toBe("");
  });

  it("of a room that is not there is a 404, and starts nothing", async () => {
    const before = sandboxContainers().length;
    expect(await callJson(404, "POST", `${path(newRoom())}/sleep`)).toMatchObject({ code: "not_found" });
    expect(sandboxContainers().length).toBe(before);
  });
});

it("hibernates and wakes for the SDK", async () => {
  const sandbox = await Sandbox.create({ apiUrl: origin(), apiKey: "none" });
  await sandbox.files.write("/workspace/note.txt", "kept");
  await sandbox.hibernate();
  expect(await callJson(200, "GET", `/api/sandboxes/${sandbox.sandboxId}`)).toMatchObject({ status: "hibernated" });
  await sandbox.wake();
  expect(sandbox.status).toBe("running");
  expect(await sandbox.files.read("/workspace/note.txt")).toBe("kept");
  await sandbox.setTimeout(600);
  expect(await status(sandbox.sandboxId)).toMatchObject({ status: "running", sleepAfterMs: 600_000 });
  await sandbox.kill();
});

it("runs on while nobody calls, with what was left running in it", async () => {
  await new Promise((resolve) => setTimeout(resolve, aloneSince + LEFT_ALONE_MS - performance.now()));
  expect(await status(alone)).toMatchObject({ status: "running", snapshot: null });
  expect((await exec(alone, "cat file; pgrep -fx 'sleep 998' | wc -l")).stdout).toBe("unsaved\n1\n");
}, 180_000);
