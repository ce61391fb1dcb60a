import { createExecutionContext, reset, runInDurableObject, waitOnExecutionContext } from "cloudflare:test";
import { env as workerEnv } from "cloudflare:workers";
import { SignJWT } from "jose";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import worker from "../../worker/index";
import { Registry } from "../../worker/registry";
import type { Sandbox } from "../../worker/sandbox";
import { containerOf, evict, type FakeContainer, forgetContainers } from "./fake-container";

// What the log tells of requests and executions, which hops are told of their trace, and what it keeps to itself.

const KEY = "planted-api-key";
const SECRET = "planted-token-key that is long enough for HS256";
const ORIGIN = "https://app.example";
const env = {
  ...workerEnv,
  AUTH_MODE: "keys",
  ALLOWED_ORIGINS: ORIGIN,
  API_KEY_CI: KEY,
  TOKEN_KEY: SECRET,
} as Env;
const ROOM = "https://roombox.example/api/rooms/room-1";
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

type Line = Record<string, unknown>;
let written: string[] = [];
let errors = "";
const lines = (event: string) => written.map((each): Line => JSON.parse(each)).filter((line) => line.event === event);

beforeEach(() => {
  written = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void written.push(text));
  errors = "";
  vi.spyOn(console, "error").mockImplementation((...told: unknown[]) => {
    errors += told.join();
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await reset();
  forgetContainers();
});

async function call(url: string, init: RequestInit = {}, within = env): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${KEY}`, ...(init.headers as Record<string, string>) });
  const context = createExecutionContext();
  const request = new Request(url, { ...init, headers }) as Request<unknown, IncomingRequestCfProperties>;
  const reply = await worker.fetch(request, within, context);
  await waitOnExecutionContext(context);
  return reply;
}
const post = (url: string, body: object, init: RequestInit = {}, within = env) =>
  call(
    url,
    {
      method: "POST",
      ...init,
      headers: { "content-type": "application/json", ...(init.headers as Record<string, string>) },
      body: JSON.stringify(body),
    },
    within,
  );
const exec = (cmd: string, more: object = {}, init: RequestInit = {}, within = env) =>
  post(`${ROOM}/sandbox/exec`, { cmd, ...more }, init, within);
const object = () => env.SANDBOX.getByName("sandbox-room-1");
const container = (): FakeContainer => containerOf(object().id);
const inObject = (test: (sandbox: Sandbox) => unknown) => runInDurableObject(object(), test);

describe("a request", () => {
  it("has one line that says who did what, and nothing of what was sent", async () => {
    const reply = await exec("echo planted-command", { env: { A: "planted-env" }, stdin: "planted-stdin" });
    const id = reply.headers.get("x-request-id");
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(lines("request")).toEqual([
      {
        event: "request",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        trace: id,
        method: "POST",
        route: "/api/rooms/{roomID}/sandbox/exec",
        room: "room-1",
        execution: expect.stringMatching(/^exec_[0-9a-f]{20}$/),
        caller: "key:ci",
        action: "forward",
        status: 200,
        ms: expect.any(Number),
      },
    ]);
    const path = `${ROOM}/sandbox/files/planted-path?x=planted-query`;
    await call(path, { method: "PUT", body: "planted-bytes" });
    await call(`${ROOM}/sandbox/ports/3000/planted-path?planted-query`, { headers: { cookie: "planted-cookie" } });
    await call(`https://roombox.example/planted-path?api_key=planted-query`);
    await call(ROOM, { headers: { authorization: "Bearer planted-wrong-key" } });
    expect(lines("request")).toHaveLength(5);
    expect(written.join("\n")).not.toContain("planted");
  });

  it("has one whatever comes of it, with the code of our error", async () => {
    const told = async (url: string, init: RequestInit = {}) => {
      written = [];
      const reply = await call(url, init);
      expect(reply.headers.get("x-request-id")).toBe(lines("request")[0]?.trace);
      return lines("request").map(({ caller, action, route, status, code }) => [caller, action, route, status, code]);
    };
    const route = "/api/rooms/{roomID}";
    expect(await told(ROOM)).toEqual([["key:ci", "status", route, 200, undefined]]);
    expect(await told(ROOM, { headers: { authorization: "Bearer no" } })).toEqual([
      ["-", "answer", route, 401, "unauthorized"],
    ]);
    expect(await told("https://roombox.example/nowhere")).toEqual([["key:ci", "answer", undefined, 404, "not_found"]]);
    expect(await told(ROOM, { method: "PATCH" })).toEqual([["key:ci", "answer", route, 405, "method_not_allowed"]]);
    expect(await told(`${ROOM}/sandbox/executions/exec_1`)).toEqual([
      ["key:ci", "record", `${route}/sandbox/executions/{executionID}`, 404, "not_found"],
    ]);
    const preflight = { method: "OPTIONS", headers: { origin: ORIGIN, "access-control-request-method": "DELETE" } };
    expect(await told(ROOM, preflight)).toEqual([["key:ci", "answer", route, 204, undefined]]);
    expect(await told(`https://roombox.example/api/rooms/r?${"x".repeat(15_000)}`)).toEqual([
      ["key:ci", "answer", undefined, 414, "url_too_long"],
    ]);
    expect(await told(ROOM, { headers: { cookie: "x".repeat(33_000) } })).toEqual([
      ["key:ci", "answer", undefined, 431, "headers_too_large"],
    ]);
  });

  it("has one where the edge itself fails, and is answered by its id all the same", async () => {
    const broken = { ...env, REGISTRY: undefined } as unknown as Env;
    const reply = await call("https://roombox.example/api/rooms", {}, broken);
    expect([reply.status, reply.headers.get("x-request-id")]).toEqual([500, lines("request")[0]?.trace]);
    expect(lines("request")).toMatchObject([{ status: 500, code: "internal", action: "rooms" }]);
    expect(errors).toContain(`trace ${lines("request")[0]?.trace}`);
  });

  it("has one where its client left before the answer", async () => {
    const client = new AbortController();
    const left = exec("hold", {}, { signal: client.signal });
    await vi.waitFor(() => expect(container().agent.all).toHaveLength(1));
    client.abort();
    await left.catch(() => undefined);
    await vi.waitFor(() => expect(lines("request")).toMatchObject([{ status: 499 }]));
    await vi.waitFor(() => expect(lines("execution")).toMatchObject([{ status: "cancelled" }]));
    expect(lines("execution")[0]?.trace).toBe(lines("request")[0]?.trace);
  });

  it("has one at the head of a stream, and tells pages its id", async () => {
    const reply = await exec("hold", { stream: true }, { headers: { origin: ORIGIN } });
    expect(lines("request")).toMatchObject([{ status: 200, action: "forward", execution: expect.any(String) }]);
    expect(reply.headers.get("x-request-id")).toBe(lines("request")[0]?.trace);
    expect(reply.headers.get("access-control-expose-headers")).toBe("*");
    await reply.body?.cancel();
  });

  it("is a point of a dataset too, where one is bound", async () => {
    const points: AnalyticsEngineDataPoint[] = [];
    const AUDIT = { writeDataPoint: (point: AnalyticsEngineDataPoint) => void points.push(point) };
    await call(ROOM, {}, { ...env, AUDIT } as unknown as Env);
    const [{ trace, ms } = {}] = lines("request");
    expect(points).toEqual([
      {
        indexes: ["room-1"],
        blobs: [
          "request",
          trace,
          "room-1",
          "",
          "key:ci",
          "200",
          "",
          "GET",
          "/api/rooms/{roomID}",
          "status",
          "",
          "",
          "",
        ],
        doubles: [ms, Number.NaN, Number.NaN],
      },
    ]);
  });
});

describe("a trace", () => {
  const seen = (path: string) => {
    const headers: Headers[] = [];
    const real = container().reply;
    container().reply = (at, init) => {
      if (at.startsWith(path)) headers.push(new Headers(init.headers));
      return real(at, init);
    };
    return headers;
  };

  it("of a caller goes on to the agent, each hop with a part of its own", async () => {
    const agent = seen("/executions");
    const headers = { traceparent: TRACEPARENT, tracestate: "a=b" };
    const reply = await exec("true", {}, { headers });
    expect(reply.headers.get("x-request-id")).toBe(TRACE);
    const [parent] = agent.map((each) => each.get("traceparent"));
    expect(parent).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    expect(parent).not.toBe(TRACEPARENT);
    expect(lines("request")[0]?.trace).toBe(TRACE);
    expect(lines("execution")[0]?.trace).toBe(TRACE);
  });

  it("goes on to a server in the sandbox, which may say an id of its own", async () => {
    const server = seen("/ports/3000/");
    const real = container().reply;
    container().reply = async (path, init) => {
      const reply = await real(path, init);
      return path.startsWith("/ports/") ? new Response("", { headers: { "x-request-id": "own" } }) : reply;
    };
    const port = `${ROOM}/sandbox/ports/3000/`;
    const reply = await call(port, { headers: { traceparent: TRACEPARENT, tracestate: "a=b" } });
    expect(reply.headers.get("x-request-id")).toBe("own");
    await call(port, { headers: { traceparent: "nonsense", tracestate: "a=b" } });
    const [continued, begun] = server;
    expect(continued?.get("traceparent")).toMatch(new RegExp(`^00-${TRACE}-(?!b7ad6b7169203331)[0-9a-f]{16}-01$`));
    expect(continued?.get("tracestate")).toBe("a=b");
    expect(begun?.get("traceparent")).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(begun?.get("tracestate")).toBeNull();
    for (const each of server) expect([...each.keys()].join()).not.toContain("authorization");
  });
});

describe("an execution", () => {
  it("has one line at its end, with no output and no command", async () => {
    const token = await new SignJWT({ room: "room-1", scope: ["exec"], sub: "user-7", jti: "j" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("1h")
      .sign(new TextEncoder().encode(SECRET));
    await exec("echo planted", {}, { headers: { authorization: `Bearer ${token}`, traceparent: TRACEPARENT } });
    expect(lines("execution")).toEqual([
      {
        event: "execution",
        time: expect.any(String),
        trace: TRACE,
        room: "room-1",
        execution: lines("request")[0]?.execution,
        caller: "token;sub=user-7;jti=j",
        mode: "plain",
        status: "completed",
        exitCode: 0,
        ms: 0,
        stdoutBytes: "echo planted".length,
      },
    ]);
    expect(written.join("\n")).not.toContain("planted");
  });

  it("has its command in it where that is asked for", async () => {
    await inObject((sandbox) => {
      Object.assign((sandbox as unknown as { env: Env }).env, { LOG_COMMANDS: "true" });
    });
    await exec("echo asked for");
    expect(lines("execution")).toMatchObject([{ command: "echo asked for" }]);
    await inObject((sandbox) => {
      Object.assign((sandbox as unknown as { env: Env }).env, { LOG_COMMANDS: "false" });
    });
  });

  it("has it when its container is lost, by the caller and the trace of its call", async () => {
    const reply = exec("hold", {}, { headers: { traceparent: TRACEPARENT } });
    await vi.waitFor(() => expect(container().agent.all).toHaveLength(1));
    await inObject(() => container().end());
    expect((await reply).status).toBe(500);
    expect(lines("execution")).toMatchObject([
      { trace: TRACE, caller: "key:ci", status: "failed", code: "lost", mode: "plain", ms: expect.any(Number) },
    ]);
  });

  it("has it after its object was put away", async () => {
    await (await exec("hold", { detach: true }, { headers: { traceparent: TRACEPARENT } })).text();
    const id = container().agent.all[0]?.id ?? "";
    const { agent } = await evict("sandbox-room-1");
    await inObject(() => undefined); // the next instance
    await inObject(() => agent.end(id));
    await vi.waitFor(() => expect(lines("execution")).toHaveLength(1));
    expect(lines("execution")).toMatchObject([{ execution: id, trace: TRACE, caller: "key:ci", status: "completed" }]);
  });

  it("has it when its room is deleted", async () => {
    await (await exec("hold", { detach: true }, { headers: { traceparent: TRACEPARENT } })).text();
    await call(ROOM, { method: "DELETE" });
    expect(lines("execution")).toMatchObject([{ trace: TRACE, status: "failed", code: "gone" }]);
  });

  it("has one when the deletion of its room fails at first, and who waits for it is told", async () => {
    const waiting = exec("hold");
    await vi.waitFor(() => expect(container().agent.all).toHaveLength(1));
    const id = container().agent.all[0]?.id;
    const release = vi.spyOn(Registry.prototype, "release").mockImplementation(() => {
      throw new Error("the registry is down");
    });
    for (let n = 0; n < 2; n++) expect((await call(ROOM, { method: "DELETE" })).status).toBe(500);
    expect((await waiting).ok).toBe(false);
    expect((await call(`${ROOM}/sandbox/executions/${id}`)).status).toBe(200); // nothing is forgotten
    release.mockRestore();
    expect(await (await call(ROOM, { method: "DELETE" })).json()).toMatchObject({ deleted: true });
    expect(lines("execution")).toMatchObject([{ execution: id, caller: "key:ci", status: "failed" }]);
    expect(await (await call(ROOM)).json()).toMatchObject({ status: "absent" });
  });

  it("has none if it was never run", async () => {
    expect((await exec("refuse")).status).toBe(503);
    expect(lines("execution")).toEqual([]);
  });
});

describe("the metrics of a room", () => {
  it("are its agent's, while it is awake", async () => {
    const metrics = () => call(`${ROOM}/sandbox/metrics`, { headers: { traceparent: TRACEPARENT } });
    const asleep = await metrics();
    expect([asleep.status, await asleep.json()]).toMatchObject([409, { code: "conflict" }]);
    expect(container().starts).toBe(0);
    await exec("true");
    expect((await metrics()).status).toBe(502); // an agent that has none
    const real = container().reply;
    let trace: string | null = null;
    container().reply = (path, init) => {
      if (path !== "/metrics") return real(path, init);
      trace = new Headers(init.headers).get("traceparent");
      return new Response("# HELP a\na 1\n");
    };
    const reply = await metrics();
    expect([reply.status, await reply.text()]).toEqual([200, "# HELP a\na 1\n"]);
    expect(reply.headers.get("content-type")).toBe("text/plain; version=0.0.4");
    expect(trace).toContain(TRACE);
    await inObject(() => container().end());
    expect((await metrics()).status).toBe(409);
    expect(container().starts).toBe(1);
  });
});
