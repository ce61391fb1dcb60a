import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  allEvents,
  call,
  callJson,
  containerOf,
  detach,
  docker,
  type Event,
  ended,
  events,
  exec,
  execUrl,
  executionPath,
  newRoom,
  post,
  record,
  remove,
  textOf,
} from "./client";

// Streams through the whole chain: in time, whole, and gone with whom they were for.

const room = newRoom();
beforeAll(async () => {
  await exec(room, "true");
});
afterAll(async () => {
  await remove(room);
});

const stream = (cmd: string, options: object = {}) => post(room, { cmd, stream: true, ...options });
const curl = promisify(execFile);
const curlArguments = (cmd: string) => [
  "-sN",
  "--compressed",
  execUrl(room),
  "-H",
  "content-type: application/json",
  "-d",
  JSON.stringify({ cmd, stream: true }),
];

async function first(response: Response, name: string): Promise<Event> {
  for await (const event of events(response)) if (event.event === name) return event;
  throw new Error(`no event ${name}`);
}

it("tells start, output and exit, with the headers that keep proxies from buffering", async () => {
  const response = await stream("echo out; sleep 0.05; echo err >&2; exit 3");
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  const all = await allEvents(response);
  expect(all.map(({ event }) => event)).toEqual(["start", "stdout", "stderr", "exit"]);
  expect(all.map(({ id }) => id)).toEqual([1, 5, 9, 10]);
  expect(all[0]?.data).toEqual({ id: expect.stringMatching(/^exec_/), sandboxName: `sandbox-${room}` });
  expect(all[3]?.data).toMatchObject({
    result: { id: all[0]?.data.id, status: "completed", exitCode: 3, stdout: "out\n", stderr: "err\n" },
    sandboxName: `sandbox-${room}`,
  });
});

it("delivers each piece as it is written", async () => {
  const times: number[] = [];
  for await (const { event } of events(await stream("for i in 1 2 3; do echo $i; sleep 0.4; done"))) {
    if (event === "stdout") times.push(performance.now());
  }
  expect(times.length).toBe(3);
  expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(600);
});

it("ends cleanly for curl, which sees the first bytes at once", async () => {
  const child = spawn("curl", curlArguments("echo now; sleep 1; echo later"));
  const began = performance.now();
  let text = "";
  let sawNow = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk;
    if (!sawNow && text.includes("now")) sawNow = performance.now() - began;
  });
  const [code] = await once(child, "close");
  expect(code).toBe(0);
  expect(sawNow).toBeLessThan(900);
  expect(text).toContain("later");
});

it("keeps characters whole", async () => {
  const all = await allEvents(
    await stream("head -c 8190 /dev/zero | tr '\\0' x; for i in $(seq 5000); do printf 'é'; done"),
  );
  expect(textOf(all, "stdout")).toBe(`${"x".repeat(8190)}${"é".repeat(5000)}`);
  const slow = await allEvents(await stream("printf '\\303'; sleep 0.1; printf '\\251'"));
  expect(textOf(slow, "stdout")).toBe("é");
});

it("loses no line of many", async () => {
  const expected = Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join("");
  const all = await allEvents(await stream("seq 1 200000"));
  expect(textOf(all, "stdout") === expected).toBe(true);
  expect(all.at(-1)).toMatchObject({ event: "exit", data: { result: { truncated: true, exitCode: 0 } } });
});

it("pings while there is nothing to tell", async () => {
  const { stdout } = await curl("curl", curlArguments("sleep 1"));
  expect(stdout).toMatch(/\n: ping\n\n/);
});

it("answers 400 before it streams", async () => {
  const response = await stream("true", { cwd: "/nowhere" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ details: { cwd: [expect.stringContaining("/nowhere")] } });
});

it("is cancelled with its tree within a second when its client leaves", async () => {
  const abort = new AbortController();
  const response = await fetch(execUrl(room), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ cmd: "setsid sleep 991 & sleep 99", stream: true }),
    signal: abort.signal,
  });
  const { data } = await first(response, "start");
  abort.abort();
  const left = performance.now();
  while ((await record(room, data.id)).status === "running") expect(performance.now() - left).toBeLessThan(1000);
  expect(await record(room, data.id)).toMatchObject({ status: "cancelled", exitCode: 137 });
  expect((await exec(room, "pgrep -c -x -f 'sleep 99[1]*'")).stdout).toBe("0\n");
});

it("is cancelled within a second by Ctrl-C on curl", async () => {
  const child = spawn("curl", curlArguments("sleep 992"));
  const [chunk] = await once(child.stdout, "data");
  const id = /"id":"(exec_\w+)"/.exec(`${chunk}`)?.[1] ?? "";
  child.kill("SIGINT");
  await once(child, "close");
  const left = performance.now();
  while ((await record(room, id)).status === "running") expect(performance.now() - left).toBeLessThan(1000);
  expect((await record(room, id)).status).toBe("cancelled");
});

it("tells an error, never an exit, when the container dies under it", async () => {
  const other = newRoom();
  await exec(other, "true");
  const container = await containerOf(other);
  const response = await post(other, { cmd: "echo begun; sleep 90", stream: true });
  const all: Event[] = [];
  for await (const event of events(response)) {
    all.push(event);
    if (event.event === "stdout") docker("kill", container);
  }
  expect(all.map(({ event }) => event)).toEqual(["start", "stdout", "error"]);
  expect(all.at(-1)).toMatchObject({ id: Number.MAX_SAFE_INTEGER, data: { code: "execution_failed" } });
  const { id } = all[0]?.data ?? {};
  expect(await record(other, id)).toMatchObject({ status: "failed", exitCode: null, truncated: true });
  const rest = (after: string) =>
    call("GET", `${executionPath(other, id)}/events`, undefined, { "last-event-id": after });
  expect((await allEvents(await rest("7"))).map(({ event }) => event)).toEqual(["error"]);
  expect((await rest(`${Number.MAX_SAFE_INTEGER}`)).status).toBe(204);
  expect((await exec(other, "echo again")).stdout).toBe("again\n");
  await remove(other);
});

it("resumes exactly after any event, while it runs and when it has ended", async () => {
  const id = await detach(room, "for i in $(seq 1 3000); do echo $i; done; echo é >&2; sleep 0.3; echo end");
  const path = `${executionPath(room, id)}/events`;
  const whole = await allEvents(await call("GET", path));
  const expected = `${Array.from({ length: 3000 }, (_, i) => `${i + 1}\n`).join("")}end\n`;
  expect(textOf(whole, "stdout")).toBe(expected);
  const cuts = [0, 1, whole.length >> 1, whole.length - 2];
  for (const cut of cuts) {
    const rest = await allEvents(await call("GET", path, undefined, { "last-event-id": `${whole[cut]?.id}` }));
    const before = whole.slice(0, cut + 1);
    expect(textOf(before, "stdout") + textOf(rest, "stdout")).toBe(expected);
    expect(textOf(before, "stderr") + textOf(rest, "stderr")).toBe("é\n");
    expect(rest.at(-1)).toEqual(whole.at(-1));
  }
  const after = await call("GET", path, undefined, { "last-event-id": `${whole.at(-1)?.id}` });
  expect(after.status).toBe(204);
});

it("gives each of many readers every line once", async () => {
  const id = await detach(room, "seq 1 100000");
  const expected = Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join("");
  const readers = Array.from({ length: 20 }, async () => {
    const all = await allEvents(await call("GET", `${executionPath(room, id)}/events`));
    return textOf(all, "stdout") === expected && all.at(-1)?.event === "exit";
  });
  expect((await Promise.all(readers)).every(Boolean)).toBe(true);
});

it("tells bytes as they are in base64", async () => {
  const all = await allEvents(await stream("printf '\\377\\0\\303'", { encoding: "base64" }));
  expect(textOf(all, "stdout")).toBe("/wDD");
  const result = await exec(room, "head -c 1000 /dev/urandom | tee bytes", { encoding: "base64" });
  const { stdout } = await exec(room, "base64 -w0 bytes");
  expect(result.stdout).toBe(stdout);
});

it("goes on for a reader that is slow, and holds only its own command", async () => {
  const response = await stream("yes | head -c 30000000 | wc -c >&2; yes | head -c 30000000", { timeout_ms: 60_000 });
  const iterator = events(response);
  await iterator.next();
  const began = performance.now();
  expect((await exec(room, "echo other")).stdout).toBe("other\n");
  expect(performance.now() - began).toBeLessThan(2000);
  let size = 0;
  for await (const { event, data } of iterator) if (event === "stdout") size += data.data.length;
  expect(size).toBe(30_000_000);
});

it("answers who asks again for what was detached, and kills it on request", async () => {
  const id = await detach(room, "echo up; sleep 993");
  await first(await call("GET", `${executionPath(room, id)}/events`), "stdout");
  expect(await record(room, id)).toMatchObject({ status: "running", stdout: "up\n", exitCode: null, duration: null });
  const { result } = await callJson(200, "POST", `${executionPath(room, id)}/kill`);
  expect(result).toMatchObject({ id, status: "cancelled", signal: "SIGKILL", exitCode: 137 });
  expect((await exec(room, "pgrep -c -x -f 'sleep 993'")).stdout).toBe("0\n");
  expect(await callJson(409, "POST", `${executionPath(room, id)}/kill`)).toMatchObject({ code: "conflict" });
});

it("sends any signal by name or number", async () => {
  const id = await detach(room, "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done");
  await first(await call("GET", `${executionPath(room, id)}/events`), "stdout");
  await callJson(200, "POST", `${executionPath(room, id)}/kill`, { signal: "SIGUSR1" });
  expect(await ended(room, id)).toMatchObject({ status: "completed", exitCode: 5, stdout: "ready\ngot\n" });
  const other = await detach(room, "sleep 994");
  await callJson(200, "POST", `${executionPath(room, other)}/kill`, { signal: 15 });
  expect(await ended(room, other)).toMatchObject({ status: "cancelled", signal: "SIGTERM", exitCode: 143 });
  expect(await callJson(400, "POST", `${executionPath(room, other)}/kill`, { signal: "SIGNOPE" })).toMatchObject({
    details: { signal: [expect.any(String)] },
  });
});

it("takes input while it runs, to its end", async () => {
  const id = await detach(room, "wc -c");
  const path = `${executionPath(room, id)}/stdin`;
  await callJson(200, "POST", path, "one\n", { "content-type": "application/octet-stream" });
  await callJson(200, "POST", `${path}?eof=true`, "two");
  expect(await ended(room, id)).toMatchObject({ status: "completed", stdout: "7\n" });
  expect(await callJson(409, "POST", path, "three")).toMatchObject({ code: "conflict" });
  expect(await record(room, id)).toMatchObject({ status: "completed", stdout: "7\n" });
});

it("takes input with the call", async () => {
  expect((await exec(room, "cat; echo end", { stdin: "é\n" })).stdout).toBe("é\nend\n");
  const all = await allEvents(await stream("wc -c", { stdin: "x".repeat(500_000) }));
  expect(textOf(all, "stdout")).toBe("500000\n");
});
