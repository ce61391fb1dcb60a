import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { NAME, WranglerDev } from "./wrangler";

// A worker with credentials: keys, room tokens, tickets and pages of other origins, over the whole chain.

const KEY = "key-of-the-test-0123456789";
const APP = "https://app.example";
let dev: WranglerDev;
let log = "";
const state = mkdtempSync(join(tmpdir(), "roombox-e2e-")); // its own, as calls are counted in it from run to run

beforeAll(async () => {
  const vars = [`API_KEY:${KEY}`, "TOKEN_KEY:a secret of the test for tokens, long enough", `ALLOWED_ORIGINS:${APP}`];
  dev = await WranglerDev.startWith(`${NAME}-who`, "--persist-to", state, ...vars.flatMap((each) => ["--var", each]));
  dev.onLog((text) => {
    log += text;
  });
});
afterAll(async () => {
  await call("DELETE", "/api/rooms/r", { authorization: `Bearer ${KEY}` });
  await dev.stop();
  rmSync(state, { recursive: true });
});

function call(method: string, path: string, headers: Record<string, string> = {}, body?: object): Promise<Response> {
  const type: Record<string, string> = body ? { "content-type": "application/json" } : {};
  return fetch(dev.origin + path, {
    method,
    headers: { ...type, ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
}
async function json(status: number, ...request: Parameters<typeof call>) {
  const reply = await call(...request);
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${reply.status} instead of ${status}: ${text}`);
  return JSON.parse(text);
}
const bearer = (credential: string) => ({ authorization: `Bearer ${credential}` });
const EXEC = "/api/rooms/r/sandbox/exec";
/** What must not be in the log. */
const secrets = [KEY, "a secret of the test for tokens", "for the server"];
const mint = async (scope: string[]) => {
  const { token } = await json(201, "POST", "/api/rooms/r/tokens", bearer(KEY), { scope });
  secrets.push(...token.split("."));
  return token;
};

it("lets nobody in without credentials, and says what to send", async () => {
  const reply = await call("POST", EXEC, {}, { cmd: "true" });
  expect(reply.status).toBe(401);
  expect(reply.headers.get("www-authenticate")).toBe("Bearer");
  expect(await reply.json()).toMatchObject({
    error: "unauthorized",
    code: "unauthorized",
    details: { authorization: [expect.any(String)] },
  });
  expect(await json(401, "GET", "/api/rooms", bearer("another"))).toMatchObject({ code: "unauthorized" });
  expect(await (await call("GET", "/health")).text()).toBe("ok");
});

it("lets a key do all, and a token what it is for", async () => {
  const { result } = await json(200, "POST", EXEC, { "x-api-key": KEY }, { cmd: "echo by key" });
  expect(result.stdout).toBe("by key\n");
  const token = await mint(["exec"]);
  expect((await json(200, "POST", EXEC, bearer(token), { cmd: "echo by token" })).result.stdout).toBe("by token\n");
  expect(await json(403, "GET", "/api/rooms/r", bearer(token))).toMatchObject({
    code: "forbidden",
    details: { scope: [expect.any(String)] },
  });
  expect(await json(403, "POST", "/api/rooms/other/sandbox/exec", bearer(token), { cmd: "true" })).toMatchObject({
    details: { room: [expect.any(String)] },
  });
  expect(await json(403, "GET", "/api/rooms", bearer(token))).toMatchObject({ code: "forbidden" });
  expect(await json(403, "POST", "/api/rooms/r/tokens", bearer(token), { scope: ["exec"] })).toMatchObject({
    code: "forbidden",
  });
  expect(await json(400, "POST", "/api/rooms/r/tokens", bearer(KEY), { scope: ["admin"] })).toMatchObject({
    details: { scope: [expect.any(String)] },
  });
});

it("shows a command in the sandbox no secret", async () => {
  const { result } = await json(200, "POST", EXEC, bearer(KEY), {
    cmd: "env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'",
  });
  expect(result.stdout).not.toMatch(/API_KEY|TOKEN|BOOT|key-of-the-test/);
});

it("keeps its own credential from a server in the sandbox, and brings it the others", async () => {
  const server = `require("http").createServer((q, r) => r.end(JSON.stringify(q.headers))).listen(3000)`;
  await json(202, "POST", EXEC, bearer(KEY), { cmd: `exec node -e '${server}'`, detach: true });
  const port = "/api/rooms/r/sandbox/ports/3000/?wait_ms=10000";
  const seen = await json(200, "GET", port, { "x-api-key": KEY, authorization: "Bearer for the server" });
  expect(seen.authorization).toBe("Bearer for the server");
  expect(JSON.stringify(seen)).not.toContain(KEY);
  expect(await json(200, "GET", port, bearer(KEY))).not.toHaveProperty("authorization");
});

/** The protocol of a WebSocket; undefined where it is refused. */
async function opens(address: string, protocols: string[] = []): Promise<string | undefined> {
  const socket = new WebSocket(address, protocols);
  const [event] = await Promise.race([once(socket, "open"), once(socket, "error")]);
  socket.close();
  return event.type === "open" ? (socket.protocol ?? "") : undefined;
}

it("opens a WebSocket for a page by a ticket, once, or by a token as a protocol", async () => {
  const { result } = await json(202, "POST", EXEC, bearer(KEY), { cmd: "echo attached; sleep 5", detach: true });
  const url = `${dev.origin.replace("http", "ws")}/api/rooms/r/sandbox/executions/${result.id}/attach`;
  const { ticket } = await json(201, "POST", "/api/rooms/r/tickets", bearer(await mint(["attach"])));
  secrets.push(ticket.split(".").at(-1));
  expect(await opens(`${url}?ticket=${ticket}`)).toBe("");
  expect(await opens(`${url}?ticket=${ticket}`)).toBeUndefined();
  expect(await opens(url, ["roombox", `roombox.credential.${await mint(["attach"])}`])).toBe("roombox");
  expect(await opens(url, ["roombox", `roombox.credential.${await mint(["read"])}`])).toBeUndefined();
  expect(await opens(`${url}?api_key=${KEY}`)).toBeUndefined();
  expect(await opens(`${dev.origin.replace("http", "ws")}/api/sandboxes/r/exec/${result.id}?api_key=${KEY}`)).toBe("");
  await json(200, "POST", `/api/rooms/r/sandbox/executions/${result.id}/kill`, bearer(KEY));
  expect(await opens(url, ["roombox", `roombox.credential.${await mint(["attach"])}`])).toBe("roombox"); // its record
});

it("lets a page be present by the same two", async () => {
  const url = `${dev.origin.replace("http", "ws")}/api/rooms/r/presence?name=Ada`;
  expect(await opens(url, ["roombox", `roombox.credential.${await mint(["read"])}`])).toBe("roombox");
  expect(await opens(url, ["roombox", `roombox.credential.${await mint(["attach"])}`])).toBeUndefined();
  const ticket = async (scope: string[]) => {
    const made = await json(201, "POST", "/api/rooms/r/tickets", bearer(await mint(scope)));
    secrets.push(made.ticket.split(".").at(-1));
    return made.ticket;
  };
  expect(await opens(`${url}&ticket=${await ticket(["attach", "read"])}`)).toBe("");
  expect(await opens(`${url}&ticket=${await ticket(["attach"])}`)).toBeUndefined();
});

it("answers pages of allowed origins alone", async () => {
  const preflight = (origin: string, method: string) =>
    call("OPTIONS", "/api/rooms/r", {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization",
    });
  for (const method of ["POST", "DELETE"]) {
    const allowed = await preflight(APP, method);
    expect([allowed.status, allowed.headers.get("access-control-allow-origin")]).toEqual([204, APP]);
    const other = await preflight("https://evil.example", method);
    expect([other.status, other.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  }
  const read = await call("GET", "/api/rooms/r", { ...bearer(KEY), origin: APP });
  expect([read.status, read.headers.get("access-control-allow-origin"), read.headers.get("vary")]).toEqual([
    200,
    APP,
    "Origin",
  ]);
  const ran = await call("POST", EXEC, { ...bearer(KEY), origin: APP }, { cmd: "true" });
  expect([ran.status, ran.headers.get("access-control-allow-origin")]).toEqual([200, APP]);
  const refused = await call("POST", EXEC, { ...bearer(KEY), origin: "https://evil.example" }, { cmd: "true" });
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
  // A page needs no preflight for a form, and no leave to send one.
  const form = await fetch(dev.origin + EXEC, { method: "POST", headers: bearer(KEY), body: '{"cmd":"true"}' });
  expect(form.status).toBe(415);
});

it("has a caller wait who calls one room too often, and no other room", async () => {
  // As many as two minutes allow, and more: a new one may begin meanwhile.
  const some = () => Promise.all(Array.from({ length: 1250 }, () => call("GET", "/api/rooms/often", bearer(KEY))));
  const replies = [...(await some()), ...(await some())];
  const statuses = replies.map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
  const refused = replies.find(({ status }) => status === 429);
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await refused?.json()).toMatchObject({ code: "too_many_requests" });
  expect((await call("GET", "/api/rooms/seldom", bearer(KEY))).status).toBe(200);
  for (const reply of replies) if (!reply.bodyUsed) await reply.body?.cancel();
}, 180_000); // so many take a while, each with its line in the log

it("tells its log of each request and execution once, by the trace of the call", async () => {
  const ofTrace = (event: string, trace: string) =>
    [...log.matchAll(/\{"event":.*\}/g)]
      .map(([line]) => JSON.parse(line))
      .filter((line) => line.event === event && line.trace === trace);
  const traced = (n: number) => ({ trace: `${n}`.repeat(32), parent: `00-${`${n}`.repeat(32)}-${"a".repeat(16)}-01` });

  const ran = traced(1);
  const token = await mint(["exec", "attach"]);
  const body = { cmd: "cat; echo planted-command $A", env: { A: "planted-env" }, stdin: "planted-stdin\n" };
  const reply = await call("POST", EXEC, { ...bearer(token), traceparent: ran.parent }, body);
  expect(reply.headers.get("x-request-id")).toBe(ran.trace);
  expect((await reply.json()) as object).toMatchObject({
    result: { stdout: "planted-stdin\nplanted-command planted-env\n" },
  });
  await vi.waitFor(() => expect(ofTrace("execution", ran.trace)).toHaveLength(1));
  expect(ofTrace("request", ran.trace)).toMatchObject([
    { room: "r", status: 200, caller: "token", route: "/api/rooms/{roomID}/sandbox/exec" },
  ]);
  expect(ofTrace("execution", ran.trace)).toMatchObject([
    { room: "r", status: "completed", exitCode: 0, caller: "token", stdoutBytes: 42 },
  ]);

  const refused = traced(2);
  await json(401, "GET", "/api/rooms?api_key=planted-query", { ...bearer("planted-key"), traceparent: refused.parent });
  await vi.waitFor(() => expect(ofTrace("request", refused.trace)).toHaveLength(1));
  expect(ofTrace("request", refused.trace)).toMatchObject([{ status: 401, code: "unauthorized", caller: "-" }]);

  const left = traced(3);
  const client = new AbortController();
  const stream = await fetch(dev.origin + EXEC, {
    method: "POST",
    headers: { ...bearer(KEY), traceparent: left.parent, "content-type": "application/json" },
    body: JSON.stringify({ cmd: "echo planted-output; sleep 60", stream: true }),
    signal: client.signal,
  });
  await stream.body?.getReader().read();
  client.abort();
  await vi.waitFor(() => expect(ofTrace("execution", left.trace)).toMatchObject([{ status: "cancelled" }]), 10_000);
  expect(ofTrace("request", left.trace)).toHaveLength(1);

  const gone = traced(4);
  await json(202, "POST", EXEC, { ...bearer(KEY), traceparent: gone.parent }, { cmd: "sleep 60", detach: true });
  await json(200, "DELETE", "/api/rooms/r", bearer(KEY));
  await vi.waitFor(() => expect(ofTrace("execution", gone.trace)).toMatchObject([{ code: "gone" }]), 10_000);
});

it("gives a server in the sandbox the trace of its call", async () => {
  const server = `require("http").createServer((q, r) => r.end(JSON.stringify(q.headers))).listen(3000)`;
  await json(202, "POST", EXEC, bearer(KEY), { cmd: `exec node -e '${server}'`, detach: true });
  const traceparent = `00-${"5".repeat(32)}-${"a".repeat(16)}-01`;
  const headers = { ...bearer(KEY), traceparent, tracestate: "vendor=planted-state" };
  const seen = await json(200, "GET", "/api/rooms/r/sandbox/ports/3000/?wait_ms=10000&x=planted-query", headers);
  expect(seen.traceparent).toMatch(/^00-5{32}-(?!a{16})[0-9a-f]{16}-01$/);
  expect(seen.tracestate).toBe("vendor=planted-state");
  expect(Object.keys(seen).filter((name) => name.startsWith("roombox"))).toEqual([]);
});

it("writes no secret to its log: credential, variable, input, output, command or query", () => {
  expect(log).toContain("/api/rooms");
  for (const secret of [...secrets, "planted"]) expect(log).not.toContain(secret);
});
