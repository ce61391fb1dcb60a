import { afterAll, beforeAll, expect, it } from "vitest";
import { allEvents, call, callJson, exec, newRoom, record, remove, textOf } from "./client";

// The published page of POST /v1/sandboxes/{id}/exec, against real sandboxes.

let id = "";
beforeAll(async () => {
  const sandbox = await callJson(201, "POST", "/v1/sandboxes", {});
  expect(sandbox).toMatchObject({ object: "sandbox", status: "running" });
  expect(sandbox.id).toMatch(/^sbx_[0-9a-f]{18}$/);
  id = sandbox.id;
});
afterAll(async () => {
  expect(await callJson(200, "DELETE", `/v1/sandboxes/${id}`)).toEqual({ object: "sandbox", id, deleted: true });
  expect(await callJson(404, "GET", `/v1/sandboxes/${id}`)).toMatchObject({ error: { type: "not_found" } });
});

const run = (body: object) => callJson(200, "POST", `/v1/sandboxes/${id}/exec`, body);
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

it("answers the example with the page's fields", async () => {
  expect(await run({ command: 'python3 -c "print(6*7)"' })).toEqual({
    object: "execution",
    id: expect.stringMatching(/^exec_[0-9a-f]+$/),
    sandbox_id: id,
    status: "completed",
    exit_code: 0,
    stdout: "42\n",
    stderr: "",
    truncated: false,
    duration_ms: expect.any(Number),
    started_at: time,
    finished_at: time,
  });
});

it("answers 200 to any exit code, and 124 when the time is out", async () => {
  expect(await run({ command: "exit 3" })).toMatchObject({ status: "completed", exit_code: 3 });
  expect(await run({ command: "cd /tmp && nohup sleep 60 &", timeout_ms: 500 })).toMatchObject({
    status: "timeout",
    exit_code: 124,
  });
  const result = await run({ command: 'pwd; echo "$A"', cwd: "/usr", env: { A: "b c" } });
  expect(result.stdout).toBe("/usr\nb c\n");
});

it("cuts what is stored at 1 MiB a stream", async () => {
  const result = await run({ command: "head -c 2000000 /dev/zero | tr '\\0' a" });
  expect(result.truncated).toBe(true);
  expect(result.stdout.length).toBe(1 << 20);
});

it("streams, and an ordinary parser reads it", async () => {
  const response = await call("POST", `/v1/sandboxes/${id}/exec`, { command: "echo out; echo é >&2", stream: true });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const all = await allEvents(response);
  expect(all[0]).toMatchObject({ event: "start", data: { id: expect.stringMatching(/^exec_/), sandbox_id: id } });
  expect(textOf(all, "stdout")).toBe("out\n");
  expect(textOf(all, "stderr")).toBe("é\n");
  expect(all.at(-1)).toMatchObject({
    event: "exit",
    data: {
      object: "execution",
      id: all[0]?.data.id,
      status: "completed",
      exit_code: 0,
      stdout: "out\n",
      stderr: "é\n",
    },
  });
});

it("records `cancelled` when the client of a stream leaves", async () => {
  const abort = new AbortController();
  const response = await fetch(new URL(`/v1/sandboxes/${id}/exec`, (await call("GET", "/health")).url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ command: "sleep 99", stream: true }),
    signal: abort.signal,
  });
  const reader = response.body?.getReader();
  const chunk = new TextDecoder().decode((await reader?.read())?.value);
  const execution = /"id":"(exec_\w+)"/.exec(chunk)?.[1] ?? "";
  abort.abort();
  const left = performance.now();
  while ((await record(id, execution)).status === "running") expect(performance.now() - left).toBeLessThan(1000);
  expect((await record(id, execution)).status).toBe("cancelled");
});

it("words its errors as the page has them", async () => {
  const path = `/v1/sandboxes/${id}/exec`;
  expect(await callJson(400, "POST", path, { command: "" })).toMatchObject({
    error: { type: "invalid_request", message: "command: Command cannot be empty" },
  });
  expect(await callJson(400, "POST", path, { cmd: "true" })).toMatchObject({ error: { type: "invalid_request" } });
  expect(await callJson(405, "GET", path)).toMatchObject({ error: { type: "method_not_allowed" } });
  expect(await callJson(404, "GET", "/v1/nothing")).toMatchObject({ error: { type: "not_found" } });
  expect(await callJson(404, "GET", "/v1/sandboxes/sbx_never")).toMatchObject({ error: { type: "not_found" } });
  expect(await callJson(400, "POST", "/v1/sandboxes/-a/exec", { command: "true" })).toMatchObject({
    error: { type: "invalid_request" },
  });
});

it("is the same sandbox by any dialect, and in both lists", async () => {
  expect((await exec(id, "echo shared > file; cat file")).stdout).toBe("shared\n");
  expect((await run({ command: "cat file" })).stdout).toBe("shared\n");
  const { data } = await callJson(200, "GET", "/v1/sandboxes?limit=100");
  expect(data.find((sandbox: { id: string }) => sandbox.id === id)).toMatchObject({
    object: "sandbox",
    status: "running",
  });
  const { rooms } = await callJson(200, "GET", "/api/rooms?limit=100");
  expect(rooms.map(({ roomID }: { roomID: string }) => roomID)).toContain(id);
  const room = newRoom();
  expect(await callJson(200, "POST", `/v1/sandboxes/${room}/exec`, { command: "echo any" })).toMatchObject({
    sandbox_id: room,
    stdout: "any\n",
  });
  await remove(room);
});
