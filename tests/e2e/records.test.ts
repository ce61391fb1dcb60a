import { afterAll, expect, it } from "vitest";
import {
  call,
  callJson,
  containerOf,
  detach,
  docker,
  ended,
  exec,
  executionPath,
  newRoom,
  post,
  record,
  remove,
  sandboxContainers,
} from "./client";

// What the room remembers of its executions, and of keys that callers gave them.

const used: string[] = [];
const room = () => {
  const name = newRoom();
  used.push(name);
  return name;
};
afterAll(async () => {
  await Promise.all(used.map(remove));
});

const list = (name: string, query = "") => callJson(200, "GET", `/api/rooms/${name}/sandbox/executions${query}`);

it("keeps a record of every execution, as its call was answered", async () => {
  const name = room();
  const result = await exec(name, "echo out; echo err >&2; exit 4");
  expect(await record(name, result.id)).toEqual(result);
  const { id } = await exec(name, "echo slow; sleep 9", { timeout_ms: 300 });
  expect(await record(name, id)).toMatchObject({ status: "timeout", exitCode: 124, stdout: "slow\n" });
});

it("lists them, newest first, by pages and by status", async () => {
  const name = room();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++) ids.unshift((await exec(name, `exit ${i}`)).id);
  const running = await detach(name, "sleep 60");
  const all = await list(name);
  expect(all.executions.map(({ id }: { id: string }) => id)).toEqual([running, ...ids]);
  expect(all.cursor).toBeNull();
  expect(all.executions[1]).toMatchObject({ status: "completed", exitCode: 4, command: "exit 4" });
  expect(all.executions[1]).not.toHaveProperty("stdout");
  const firstPage = await list(name, "?limit=2");
  const secondPage = await list(name, `?limit=2&cursor=${firstPage.cursor}`);
  expect([...firstPage.executions, ...secondPage.executions].map(({ id }: { id: string }) => id)).toEqual([
    running,
    ...ids.slice(0, 3),
  ]);
  const byStatus = await list(name, "?status=running");
  expect(byStatus.executions.map(({ id }: { id: string }) => id)).toEqual([running]);
  for (const query of ["?limit=0", "?limit=x", "?cursor=nope", "?status=done"]) {
    expect(await callJson(400, "GET", `/api/rooms/${name}/sandbox/executions${query}`)).toMatchObject({
      code: "invalid_request",
    });
  }
});

it("remembers what could not be run, too", async () => {
  const name = room();
  const response = await post(name, { cmd: "true", cwd: "/nowhere" });
  expect(response.status).toBe(400);
  const { executions } = await list(name);
  expect(executions).toMatchObject([{ status: "failed", exitCode: null }]);
  const { id } = executions[0];
  expect(await record(name, id)).toMatchObject({ status: "failed", error: expect.any(String) });
  const detached = await exec(name, "/nonexistent");
  expect(detached.exitCode).toBe(127);
  expect(await ended(name, await detach(name, "/nonexistent"))).toMatchObject({ status: "completed", exitCode: 127 });
});

it("turns what ran in a lost container into a failure, and keeps its records without one", async () => {
  const name = room();
  const kept = await exec(name, "echo kept");
  const id = await detach(name, "sleep 995");
  const container = await containerOf(name);
  docker("kill", container);
  const lost = performance.now();
  while ((await record(name, id)).status === "running") expect(performance.now() - lost).toBeLessThan(2000);
  expect(await record(name, id)).toMatchObject({ status: "failed", exitCode: null, error: expect.any(String) });
  expect(await record(name, kept.id)).toEqual(kept);
  expect(await callJson(200, "GET", `/api/rooms/${name}`)).toMatchObject({ status: "asleep" });
  expect(await callJson(410, "POST", `${executionPath(name, id)}/kill`)).toMatchObject({ code: "gone" });
  const before = sandboxContainers().length;
  const replay = await call("GET", `${executionPath(name, kept.id)}/events`);
  expect(await replay.text()).toContain('id: 6\nevent: stdout\ndata: {"data":"kept\\n"}');
  expect(sandboxContainers().length).toBe(before); // none of it woke the sandbox
  expect((await exec(name, "echo again")).stdout).toBe("again\n");
});

it("fails a command whose agent is killed, within two seconds", async () => {
  const name = room();
  await exec(name, "true");
  const container = await containerOf(name);
  const inFlight = post(name, { cmd: "touch begun; sleep 90" });
  while ((await exec(name, "ls begun")).exitCode !== 0);
  const killed = performance.now();
  docker("kill", "--signal", "KILL", container);
  const response = await inFlight;
  expect(performance.now() - killed).toBeLessThan(2000);
  expect(response.status).toBe(500);
  await response.text();
  const { executions } = await list(name, "?status=failed");
  expect(executions).toMatchObject([{ command: "touch begun; sleep 90", status: "failed" }]);
  expect((await exec(name, "echo next")).stdout).toBe("next\n");
});

it("forgets all with its room", async () => {
  const name = room();
  const { id } = await exec(name, "true");
  const before = sandboxContainers().length;
  await remove(name);
  expect(await list(name)).toEqual({ executions: [], cursor: null });
  expect(await callJson(404, "GET", executionPath(name, id))).toMatchObject({ code: "not_found" });
  expect(await callJson(200, "GET", `/api/rooms/${name}`)).toMatchObject({ status: "absent" });
  expect(sandboxContainers().length).toBe(before - 1);
});

it("runs once for a key, however often and at once it is asked", async () => {
  const name = room();
  const body = { cmd: "echo run >> runs; sleep 0.5; cat runs" };
  const headers = { "content-type": "application/json", "idempotency-key": "key-1" };
  const path = `/api/rooms/${name}/sandbox/exec`;
  const responses = await Promise.all(Array.from({ length: 20 }, () => call("POST", path, body, headers)));
  const bodies = await Promise.all(responses.map((response) => response.json()));
  expect(new Set(bodies.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(bodies[0]).toMatchObject({ result: { stdout: "run\n" } });
  expect(responses.filter((response) => response.headers.get("idempotency-replayed") === "true").length).toBe(19);
  const again = await call("POST", path, body, headers);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(await again.json()).toEqual(bodies[0]);
  expect(await callJson(409, "POST", path, { cmd: "echo other" }, headers)).toMatchObject({ code: "conflict" });
  expect((await exec(name, "cat runs")).stdout).toBe("run\n");
  expect(await callJson(400, "POST", path, body, { ...headers, "idempotency-key": "x".repeat(256) })).toMatchObject({
    details: { "Idempotency-Key": [expect.any(String)] },
  });
});

it("replays a stream and a detached one for their keys", async () => {
  const name = room();
  const path = `/api/rooms/${name}/sandbox/exec`;
  const streamed = { cmd: "echo a; echo b >&2", stream: true };
  const first = await (await call("POST", path, streamed, { "idempotency-key": "s" })).text();
  const second = await call("POST", path, streamed, { "idempotency-key": "s" });
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect((await second.text()).replaceAll(": ping\n\n", "")).toBe(first.replaceAll(": ping\n\n", ""));
  const detached = { cmd: "sleep 0.1", detach: true };
  const one = await callJson(202, "POST", path, detached, { "idempotency-key": "d" });
  const two = await callJson(202, "POST", path, detached, { "idempotency-key": "d" });
  expect(two.result.id).toBe(one.result.id);
});

it("lists rooms, the last active first, with their status", async () => {
  const [first, second] = [room(), room()];
  await exec(first, "true");
  await exec(second, "true");
  await exec(first, "true");
  const { rooms } = await callJson(200, "GET", "/api/rooms?limit=2");
  expect(rooms).toMatchObject([
    { roomID: first, sandboxName: `sandbox-${first}`, status: "running" },
    { roomID: second, status: "running" },
  ]);
  expect(Date.parse(rooms[0].lastActiveAt)).toBeGreaterThanOrEqual(Date.parse(rooms[1].lastActiveAt));
  const seen = new Set<string>();
  for (let cursor = ""; ; ) {
    const page = await callJson(200, "GET", `/api/rooms?limit=1${cursor && `&cursor=${cursor}`}`);
    for (const { roomID } of page.rooms) seen.add(roomID);
    if (page.cursor === null) break;
    cursor = page.cursor;
  }
  expect(seen).toContain(first);
  expect(seen).toContain(second);
  await remove(second);
  const after = await callJson(200, "GET", "/api/rooms?limit=100");
  expect(after.rooms.map(({ roomID }: { roomID: string }) => roomID)).not.toContain(second);
});
