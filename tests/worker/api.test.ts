import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { containerOf, type FakeContainer, withContainer } from "./fake-container";

// Calls of the API through worker, core and object, to an agent that is a fake one.

const API = "http://localhost/api/rooms";
const V1 = "http://localhost/v1/sandboxes";
const fetch = (url: string, init?: RequestInit) => exports.default.fetch(url, init);
const post = (url: string, body: unknown, init: RequestInit = {}) =>
  fetch(url, {
    method: "POST",
    ...init,
    headers: { "content-type": "application/json", ...init.headers },
    body: JSON.stringify(body),
  });
const exec = (room: string, body: object, init?: RequestInit) => post(`${API}/${room}/sandbox/exec`, body, init);
const executions = (room: string) => `${API}/${room}/sandbox/executions`;
const json = async (reply: Response | Promise<Response>) => (await reply).json();
const idOf = (reply: Response) => reply.headers.get("roombox-execution") ?? "";
const containerIn = (room: string): FakeContainer => containerOf(env.SANDBOX.getByName(`sandbox-${room}`).id);
const end = (room: string, id: string, output?: string) =>
  withContainer(`sandbox-${room}`, async (_, { agent }) => agent.end(id, "completed", output));
const taken = (room: string) =>
  vi.waitFor(() => containerIn(room).agent.all[0] ?? Promise.reject(new Error("not taken yet")), { interval: 1 });

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue();
  return () => vi.restoreAllMocks();
});

describe("an execution", () => {
  it("is told by its record", async () => {
    const id = idOf(await exec("told", { cmd: "echo hi", detach: true }));
    expect(await json(fetch(`${executions("told")}/${id}`))).toMatchObject({
      result: { id, status: "completed", stdout: "echo hi", command: "echo hi", exitCode: 0, success: true },
      sandboxName: "sandbox-told",
    });
  });

  it("is listed while it runs and once it has ended, without what it printed", async () => {
    const id = idOf(await exec("listed", { cmd: "hold", detach: true }));
    await exec("listed", { cmd: "true" });
    const list = (query: string) => json(fetch(executions("listed") + query));
    expect(await list("?status=running")).toMatchObject({ executions: [{ id, status: "running" }], cursor: null });
    await end("listed", id);
    const { executions: all, cursor } = (await list("?limit=1")) as { executions: object[]; cursor: string };
    expect(all).toMatchObject([{ command: "true", status: "completed" }]);
    expect(all[0]).not.toHaveProperty("stdout");
    await vi.waitFor(async () => {
      const rest = await list(`?limit=1&cursor=${cursor}`);
      expect(rest).toMatchObject({ executions: [{ id, status: "completed" }], cursor: null });
    });
  });

  it("takes stdin and signals until it ends, then 409", async () => {
    const id = idOf(await exec("called", { cmd: "hold", detach: true }));
    const at = `${executions("called")}/${id}`;
    expect(await json(fetch(`${at}/stdin?eof=true`, { method: "POST", body: "bytes" }))).toEqual({ verb: "stdin", id });
    expect((await post(`${at}/kill`, { signal: "SIGTERM" })).status).toBe(200);
    await vi.waitFor(async () => expect((await post(`${at}/kill`, {})).status).toBe(409));
  });

  it("is replayed as events, from where its reader was", async () => {
    const id = idOf(await exec("replayed", { cmd: "hello" }));
    const events = (after?: string) =>
      fetch(`${executions("replayed")}/${id}/events`, after ? { headers: { "last-event-id": after } } : {});
    const reply = await events();
    expect(reply.headers.get("content-type")).toBe("text/event-stream");
    const text = await reply.text();
    expect(text).toContain("event: start");
    expect(text.match(/event: exit/g)).toHaveLength(1);
    const last = [...text.matchAll(/^id: ?(\d+)$/gm)].at(-1)?.[1];
    expect(last).toBeDefined();
    const over = await events(last);
    expect([over.status, await over.text()]).toEqual([204, ""]);
  });

  it("has its stream's error where that breaks off, unless inside an event", async () => {
    const events = await exec("broken", { cmd: "hold, then break", stream: true });
    const text = await events.text();
    expect(text).toMatch(/^event: start\n\nid: 9007199254740991\nevent: error\ndata: \{"error":"sandbox.*\}\n\n$/);
    const inside = await exec("broken", { cmd: "hold, then break inside", stream: true });
    await expect(inside.text()).rejects.toThrow();
  });

  it("that has ended is told to who attaches, and to whom there is none is refused", async () => {
    const id = idOf(await exec("attached", { cmd: "hello" }));
    await vi.waitFor(async () => expect((await fetch(`${executions("attached")}/${id}`)).status).toBe(200));
    const reply = await fetch(`${executions("attached")}/${id}/attach`, { headers: { upgrade: "websocket" } });
    expect(reply.status).toBe(101);
    const socket = reply.webSocket;
    if (!socket) throw new Error("no socket");
    const said: unknown[] = [];
    const closed = new Promise<[number, string]>((resolve) =>
      socket.addEventListener("close", ({ code, reason }) => resolve([code, reason])),
    );
    socket.addEventListener("message", ({ data }) => said.push(typeof data === "string" ? JSON.parse(data) : data));
    socket.accept();
    expect(await closed).toEqual([1000, ""]);
    expect(said[0]).toMatchObject({ type: "start", id, sandboxName: "sandbox-attached", sequence: 1 });
    expect(said.length).toBeGreaterThanOrEqual(3); // at least the end of the replay and the exit
    const none = `${executions("attached")}/exec_none/attach`;
    expect((await fetch(none, { headers: { upgrade: "websocket" } })).status).toBe(404);
    expect((await fetch(none)).status).toBe(426);
  });

  it("that is unknown is 404, in a room that there never was, too", async () => {
    const id = `exec_${"0".repeat(20)}`;
    for (const call of [`${id}`, `${id}/events`])
      expect((await fetch(`${executions("none")}/${call}`)).status).toBe(404);
    expect((await post(`${executions("none")}/${id}/kill`, {})).status).toBe(404);
    expect(await json(fetch(executions("none")))).toEqual({ executions: [], cursor: null });
    expect(containerIn("none").starts).toBe(0);
  });

  it("of an earlier life of the sandbox is 410, and its record says failed", async () => {
    const id = idOf(await exec("earlier", { cmd: "hold", detach: true }));
    await withContainer("sandbox-earlier", async (_, container) => container.end());
    expect((await post(`${executions("earlier")}/${id}/kill`, {})).status).toBe(410);
    expect(await json(fetch(`${executions("earlier")}/${id}`))).toMatchObject({
      result: { id, status: "failed", error: expect.any(String) },
    });
    const events = await (await fetch(`${executions("earlier")}/${id}/events`)).text();
    expect(events).toContain("event: error");
    expect(events).not.toContain("event: exit");
    expect(containerIn("earlier").starts).toBe(1);
  });

  it("ends when its client leaves", async () => {
    const client = new AbortController();
    const reply = exec("left", { cmd: "hold" }, { signal: client.signal });
    const { id } = await taken("left");
    client.abort();
    await reply.catch(() => undefined);
    await vi.waitFor(async () => {
      expect(await json(fetch(`${executions("left")}/${id}`))).toMatchObject({ result: { status: "cancelled" } });
    });
  });
});

describe("an idempotency key", () => {
  const headers = { "idempotency-key": "key" };

  it("has the same execution told again, and marked", async () => {
    const first = await exec("key", { cmd: "hello" }, { headers });
    expect(first.headers.get("idempotency-replayed")).toBeNull();
    const again = await exec("key", { cmd: "hello" }, { headers });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await again.json()).toMatchObject({ result: { id: idOf(first), stdout: "hello", status: "completed" } });
  });

  it("is not taken for another body", async () => {
    await exec("reused", { cmd: "hello" }, { headers });
    expect((await exec("reused", { cmd: "other" }, { headers })).status).toBe(409);
  });

  it("has a stream told again as a stream", async () => {
    await (await exec("streamed", { cmd: "hello", stream: true }, { headers })).text();
    const again = await exec("streamed", { cmd: "hello", stream: true }, { headers });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(await again.text()).toMatch(/event: start.*hello.*event: exit/s);
  });
});

describe("rooms", () => {
  it("tell their status, are listed and deleted", async () => {
    expect(await json(fetch(`${API}/R`))).toMatchObject({ roomID: "R", status: "absent", createdAt: null });
    await exec("R", { cmd: "true" });
    const room = { roomID: "R", sandboxName: "sandbox-R", status: "running", createdAt: expect.any(String) };
    expect(await json(fetch(`${API}/R`))).toMatchObject(room);
    expect(await json(fetch(`${API}?limit=100`))).toMatchObject({
      rooms: expect.arrayContaining([expect.objectContaining(room)]),
    });
    expect(await json(fetch(`${API}/R`, { method: "DELETE" }))).toEqual({ sandboxName: "sandbox-R", deleted: true });
    expect(await json(fetch(`${API}/R`, { method: "DELETE" }))).toEqual({ sandboxName: "sandbox-R", deleted: false });
    expect(await json(fetch(executions("R")))).toEqual({ executions: [], cursor: null });
    expect(JSON.stringify(await json(fetch(`${API}?limit=100`)))).not.toContain('"sandbox-R"');
  });
});

describe("sandboxes of the second dialect", () => {
  it("are made, used, listed and deleted", async () => {
    const made = await post(V1, {});
    expect(made.status).toBe(201);
    const sandbox = (await made.json()) as { id: string };
    expect(sandbox).toMatchObject({
      object: "sandbox",
      id: expect.stringMatching(/^sbx_[0-9a-f]{18}$/),
      status: "running",
    });
    expect((await post(`${V1}/${sandbox.id}/exec`, { command: "echo hi" })).status).toBe(200);
    expect(await json(fetch(`${V1}/${sandbox.id}`))).toMatchObject({ id: sandbox.id });
    expect(await json(fetch(`${V1}?limit=1`))).toMatchObject({ object: "list", data: [{ id: sandbox.id }] });
    const deleted = await json(fetch(`${V1}/${sandbox.id}`, { method: "DELETE" }));
    expect(deleted).toMatchObject({ object: "sandbox", id: sandbox.id, deleted: true });
    expect((await fetch(`${V1}/${sandbox.id}`)).status).toBe(404);
  });
});
