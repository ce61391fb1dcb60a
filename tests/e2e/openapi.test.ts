import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Json, resolved } from "../../worker/web/docs/document.ts";
import {
  type Call,
  callNamed,
  calls,
  contract,
  type Exchange,
  exchangesOf,
  faultsOf,
  given,
  OTHERWISE,
  strictFaultsOf,
} from "../docs/contract";
import { allEvents, type Event } from "./client";
import { NAME, WranglerDev } from "./wrangler";

// The examples of the API's document, each sent to the real thing and held against what it answers: status, type, headers, every field,
// and all values that are the same each time.

const KEY = "key-of-the-test-0123456789";
const ROOM = `docs-${process.pid}`;
const state = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
let dev: WranglerDev;

beforeAll(async () => {
  const vars = [`API_KEY:${KEY}`, "TOKEN_KEY:a secret of the test for tokens, long enough"];
  dev = await WranglerDev.startWith(`${NAME}-docs`, "--persist-to", state, ...vars.flatMap((each) => ["--var", each]));
});
afterAll(async () => {
  for (const room of [ROOM, v1, sdk]) if (room) await send(callNamed("deleteRoom"), OTHERWISE, { roomID: room });
  await dev.stop();
  rmSync(state, { recursive: true });
});

type Values = Record<string, Json>;

/** Where a call goes, and the headers that its parameters are. */
function target(call: Call, exchange: string, values: Values): { url: string; headers: Record<string, string> } {
  const url = new URL(call.path, dev.origin);
  const headers: Record<string, string> = {};
  let path = call.path;
  for (const parameter of call.parameters) {
    const { name, in: place, examples = {} } = parameter;
    const value = examples[exchange]?.value ?? values[name] ?? given(parameter, exchange);
    if (value === undefined) continue;
    if (place === "path") path = path.replace(`{${name}}`, `${value}`);
    if (place === "query") url.searchParams.set(name, `${value}`);
    if (place === "header") headers[name] = `${value}`;
  }
  return { url: dev.origin + path + url.search, headers };
}

function send(
  call: Call,
  exchange: string,
  values: Values,
  body?: Exchange["body"],
  credential = KEY,
): Promise<Response> {
  const { url, headers } = target(call, exchange, values);
  return fetch(url, {
    method: call.method.toUpperCase(),
    headers: { ...headers, ...(credential && { "x-api-key": credential }), ...(body && { "content-type": body.type }) },
    ...(body && { body: typeof body.value === "string" ? body.value : JSON.stringify(body.value) }),
    redirect: "manual",
  });
}

const replayed = new Set<string>();

/** Replays an exchange. @param values of parameters, where the example's are not those of something that is there */
async function replay(id: string, name = OTHERWISE, values: Values = {}): Promise<Answered> {
  const call = callNamed(id);
  const exchange = exchangesOf(call).find((each) => each.name === name);
  if (!exchange) throw new Error(`${id} has no example ${name}`);
  replayed.add(`${id} ${name}`);
  if (exchange.status === 101) return attach(exchange, values);
  const response = await send(call, name, values, exchange.body);
  const said = `${id} ${name}`;
  if (response.status !== exchange.status) throw new Error(`${said}: ${response.status} ${await response.text()}`);
  expectHeaders(said, exchange, response.headers);
  return expectBody(said, exchange, response);
}

interface Answered {
  // biome-ignore lint/suspicious/noExplicitAny: it has been held against its schema
  json?: any;
  headers: Headers;
  events?: Event[];
}

function expectHeaders(said: string, { answer }: Pick<Exchange, "answer">, headers: Headers): void {
  for (const [name, part] of Object.entries(answer.headers ?? {})) {
    const { required, schema } = resolved(contract, part);
    const value = headers.get(name);
    if (required || name === "X-Request-Id" || value !== null)
      expect([said, name, faultsOf(schema, value)]).toEqual([said, name, ""]);
  }
}

async function expectBody(
  said: string,
  { call, type, media, example, status }: Exchange,
  response: Response,
): Promise<Answered> {
  const { headers } = response;
  if (type !== "*/*" && type) expect([said, headers.get("content-type")?.split(";")[0]]).toEqual([said, type]);
  if (type === "text/event-stream")
    return { headers, events: await expectEvents(said, media?.["x-events"] ?? {}, response) };
  const text = await response.text();
  if (!media || call.method === "head") expect([said, text]).toEqual([said, ""]);
  if (!media || call.method === "head") return { headers };
  if (type !== "application/json") {
    if (type === "application/octet-stream" || type === "*/*") expect([said, text]).toEqual([said, example]);
    expect([said, faultsOf(media.schema, text)]).toEqual([said, ""]);
    return { headers };
  }
  const json = JSON.parse(text);
  expect([said, (status < 400 ? strictFaultsOf : faultsOf)(media.schema, json)]).toEqual([said, ""]);
  expect([said, steady(json)]).toEqual([said, steady(example)]);
  return { headers, json };
}

async function expectEvents(said: string, schemas: Record<string, string>, response: Response): Promise<Event[]> {
  const all = await allEvents(response);
  for (const { event, data } of all) {
    const $ref = `#/components/schemas/${schemas[event]}`;
    expect([said, event, strictFaultsOf({ $ref }, data)]).toEqual([said, event, ""]);
  }
  expect([said, all[0]?.event, all[1]?.event, all.at(-1)?.event]).toEqual([said, "start", "stdout", "exit"]);
  return all;
}

/** Names of what differs from run to run, and of what may not have come yet. */
const FLEETING = ["duration", "duration_ms", "bytes", "token", "ticket", "url"];
const COMING = [...FLEETING, "stdout"];

/** A value without what differs from run to run: ids, times, and what lists have. */
function steady(value: unknown): unknown {
  if (Array.isArray(value)) return typeof value[0] === "object" ? "a list" : value;
  if (typeof value === "object" && value !== null) {
    const names = "status" in value && value.status === "running" ? COMING : FLEETING;
    const entries = Object.entries(value).map(([name, each]) => {
      return [name, names.includes(name) && each !== null ? "fleeting" : steady(each)];
    });
    return Object.fromEntries(entries);
  }
  if (typeof value !== "string") return value;
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return "a time";
  return value
    .replaceAll(/\bexec_\w+|\bsbx_[0-9a-f]{18}\b/g, "an id")
    .replaceAll(/\broom-123\b|\bdocs-\d+\b/g, "a room");
}

/** Opens the WebSocket of a call, as a page does, and looks at what comes first. */
async function attach({ call, name, answer }: Exchange, values: Values): Promise<Answered> {
  const url = target(call, name, values).url.replace("http", "ws");
  const socket = new WebSocket(url, ["roombox", `roombox.credential.${KEY}`]);
  socket.binaryType = "arraybuffer";
  const { data } = await new Promise<MessageEvent>((resolve, reject) => {
    socket.addEventListener("message", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`${call.path} was refused`)), { once: true });
  });
  expect(socket.protocol).toBe("roombox");
  const { server, client } = answer["x-messages"] ?? {};
  if (server) expect(strictFaultsOf({ $ref: `#/components/schemas/${server}` }, JSON.parse(data))).toBe("");
  else expect(data).toBeInstanceOf(ArrayBuffer);
  const control = { type: "stdin-eof" };
  if (client) expect(faultsOf({ $ref: `#/components/schemas/${client}` }, control)).toBe("");
  if (client) socket.send(JSON.stringify(control));
  const closed = new Promise((resolve) => socket.addEventListener("close", resolve, { once: true }));
  socket.close();
  await closed;
  return { headers: new Headers() };
}

const room = { roomID: ROOM };
/** An execution of a room, started by a call's example. */
const started = async (id: string, name: string, values: Values = room) => {
  const { json } = await replay(id, name, values);
  return { ...values, executionID: json.result?.id ?? json.sessionID };
};
const cat = () => started("exec", "detached");

let v1 = "";
let sdk = "";

it("serves the document, to pages of any origin too, and its page without scripts", async () => {
  const reply = await fetch(`${dev.origin}/openapi.json`);
  expect(reply.headers.get("content-type")).toMatch(/^application\/json/);
  expect(reply.headers.get("access-control-allow-origin")).toBe("*");
  expect(await reply.json()).toEqual(JSON.parse(JSON.stringify(contract)));
  const page = await fetch(`${dev.origin}/docs`);
  const text = await page.text();
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  for (const { operation } of calls)
    if (!operation["x-any-method"]) expect(text).toContain(`id="${operation.operationId}"`);
  expect(text).not.toMatch(/<script|style=|<style/);
  const [, sheet] = /<link rel="stylesheet"[^>]* href="([^"]+)"/.exec(text) ?? [];
  expect((await fetch(new URL(sheet ?? "", `${dev.origin}/docs`))).headers.get("content-type")).toMatch(/^text\/css/);
});

it("refuses every call without a credential, and with that of another room", async () => {
  const { token } = (await (
    await send(
      callNamed("createToken"),
      "token",
      { roomID: "another" },
      { type: "application/json", value: { scope: ["exec", "attach", "files", "ports", "read", "delete"] } },
    )
  ).json()) as { token: string };
  for (const call of calls.filter(({ operation }) => operation["x-scope"] !== "none")) {
    for (const [credential, status] of [
      ["", 401],
      [token, 403],
    ] as const) {
      const response = await send(call, OTHERWISE, room, undefined, credential);
      const said = `${call.operation.operationId} ${status}`;
      expect([said, response.status]).toEqual([said, status]);
      const [, answer] = call.answers.find(([each]) => each === `${status}`) ?? [];
      if (!answer) throw new Error(`${said} is not documented`);
      expectHeaders(said, { answer }, response.headers);
      const text = await response.text();
      if (call.method === "head") continue;
      expect([said, faultsOf(answer.content?.["application/json"]?.schema ?? {}, JSON.parse(text))]).toEqual([
        said,
        "",
      ]);
    }
  }
});

it("replays the service and what is refused before there is a room", async () => {
  await replay("health", "up");
  for (const page of ["startPage", "roomPage", "docsPage"]) await replay(page, "page", room);
  await replay("sleep", "absent", room);
  await replay("metrics", "notAwake", room);
  await replay("createToken", "token", room);
  await replay("createToken", "unknownScope", room);
});

it("replays commands and executions", async () => {
  const plain = await started("exec", "plain");
  for (const name of [
    "full",
    "shell",
    "emptyCommand",
    "unknownField",
    "missingDirectory",
    "notTogether",
    "invalidRoom",
  ])
    await replay("exec", name, room);
  await replay("exec", "stream", room);

  for (const name of ["page", "ofStatus", "limitTooHigh"]) await replay("listExecutions", name, room);
  await replay("getExecution", "record", plain);
  await replay("getExecution", "unknownExecution", room);
  const { events = [] } = await replay("readEvents", "events", plain);
  await replay("readEvents", OTHERWISE, { ...plain, "Last-Event-ID": events.at(-1)?.id ?? 0 });
  await replay("readEvents", "nothingFollows", plain);
  await replay("readEvents", "unknownExecution", room);

  const reading = await cat();
  await replay("writeStdin", "write", reading);
  await replay("writeStdin", "notBoolean", reading);
  await replay("writeStdin", "close", reading);
  await replay("writeStdin", "ended", plain);

  await replay("attach", OTHERWISE, await cat());
  await replay("attach", "noUpgrade", plain);

  const terminal = await started("exec", "terminal");
  await replay("resize", "resize", terminal);
  await replay("resize", "tooManyRows", terminal);
  const killed = await cat();
  await replay("resize", "noTerminal", killed);
  await replay("kill", "unknownSignal", killed);
  await replay("kill", "byName", killed);
  await replay("kill", "byNumber", await cat());
  await replay("kill", "ended", plain);
});

/** The calls of files in one dialect. @param place its first parameter */
async function replayFiles(
  [read, write, remove]: [string, string, string],
  place: Values,
  refusals: string[],
): Promise<void> {
  const { headers } = await replay(write, "create", place);
  for (const name of ["replace", "makeDirectory", "changedMeanwhile", "missingDirectory"])
    await replay(write, name, place);
  for (const name of ["read", "part", "directory", "missingFile", "beyondTheEnd", ...refusals])
    await replay(read, name, place);
  const etag = (await replay(read, "read", place)).headers.get("etag") ?? "";
  expect(headers.get("etag")).not.toBe(etag); // it was replaced
  const unchanged = await send(callNamed(read), "read", { ...place, "If-None-Match": etag });
  expect(unchanged.status).toBe(304);
  const [, answer] = callNamed(read).answers.find(([status]) => status === "304") ?? [];
  if (answer) expectHeaders(`${read} 304`, { answer }, unchanged.headers);
  await replay(remove, "missingFile", place);
  await replay(remove, OTHERWISE, place);
  const made = callNamed(write).parameters.find(({ name }) => name === "path")?.examples?.makeDirectory?.value ?? "";
  expect((await send(callNamed(remove), "recursively", { ...place, path: made })).status).toBe(204);
}

it("replays files", async () => {
  await replay("writeFile", "makeDirectory", room);
  await replay("removeFile", "notEmpty", room);
  expect((await send(callNamed("removeFile"), "recursively", { ...room, path: "workspace/new" })).status).toBe(204);
  await replayFiles(["readFile", "writeFile", "removeFile"], room, ["notPermitted"]);
});

it("replays calls to a server, by every method", async () => {
  const server = 'require("node:http").createServer((_, answer) => answer.end("hello")).listen(3000, "127.0.0.1")';
  const body = { type: "application/json", value: { cmd: `exec node -e '${server}'`, detach: true } };
  expect((await send(callNamed("exec"), "detached", room, body)).status).toBe(202);
  for (const { operation } of calls.filter(({ path }) => path.includes("/ports/")))
    for (const name of ["relayed", "ownPort", "nothingListens", "waitTooLong"])
      await replay(operation.operationId, name, room);
});

it("replays rooms, to their end", async () => {
  const reading = await cat();
  await replay("bePresent", OTHERWISE, room);
  await replay("bePresent", "noUpgrade", room);
  const { json } = await replay("createTicket", "ticket", room);
  const url = `${target(callNamed("attach"), OTHERWISE, reading).url}?ticket=${json.ticket}`.replace("http", "ws");
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", () => reject(new Error("the ticket was refused")));
  });
  socket.close();
  await replay("metrics", "metrics", room);
  await replay("getRoom", "room", room);
  await replay("listRooms", "page");
  await replay("listRooms", "limitTooHigh");
  await replay("sleep", "asleep", room);
  await replay("deleteRoom", "deleted", room);
});

it("replays /v1/sandboxes", async () => {
  v1 = (await replay("v1CreateSandbox", "create")).json.id;
  const place = { id: v1 };
  await replay("v1CreateSandbox", "unknownField");
  for (const name of ["page", "limitTooHigh"]) await replay("v1ListSandboxes", name);
  for (const name of ["sandbox", "unknownSandbox"]) await replay("v1GetSandbox", name, place);
  for (const name of ["plain", "full", "stream", "emptyCommand", "invalidSandbox"]) await replay("v1Exec", name, place);
  await replayFiles(["v1ReadFile", "v1WriteFile", "v1RemoveFile"], place, ["notAbsolute"]);
  for (const name of ["port", "ownPort"]) await replay("v1PortUrl", name, place);
  await replay("v1DeleteSandbox", "deleted", place);
});

it("replays /api/sandboxes", async () => {
  sdk = (await replay("sdkCreateSandbox", "create")).json.sandboxID;
  const place = { id: sdk };
  await replay("sdkCreateSandbox", "noTemplate");
  for (const name of ["page", "limitTooHigh"]) await replay("sdkListSandboxes", name);
  for (const name of ["sandbox", "unknownSandbox"]) await replay("sdkGetSandbox", name, place);
  for (const name of ["shell", "program", "emptyCommand"]) await replay("sdkRun", name, place);
  const background = await started("sdkRunAsync", "session", place);
  await replay("sdkRunAsync", "emptyCommand", place);
  const session = await started("sdkOpenSession", "session", place);
  await replay("sdkOpenSession", "emptyCommand", place);
  await replay("sdkListSessions", "sessions", place);
  await replay("sdkResult", "result", background);
  await replay("sdkResult", "unknownExecution", place);
  await replay("sdkAttach", "noUpgrade", session);
  await replay("sdkAttach", OTHERWISE, session);
  await replay("sdkKill", "unknownSignal", background);
  await replay("sdkKill", "kill", background);
  await replay("sdkKill", "ended", background);

  const terminal = await started("sdkOpenTerminal", "terminal", place);
  await replay("sdkOpenTerminal", "tooManyRows", place);
  await replay("sdkAttachTerminal", "noUpgrade", terminal);
  await replay("sdkAttachTerminal", OTHERWISE, terminal);
  await replay("sdkResize", "resize", terminal);
  await replay("sdkResize", "tooManyRows", terminal);
  await replay("sdkEndTerminal", OTHERWISE, terminal);
  await replay("sdkEndTerminal", "ended", terminal);

  await replayFiles(["sdkReadFile", "sdkWriteFile", "sdkRemoveFile"], place, ["notAbsolute"]);
  for (const name of ["makeDirectory", "directory"]) await replay("sdkMakeDirectory", name, place);
  for (const name of ["directory", "missingFile"]) await replay("sdkListDirectory", name, place);
  for (const name of ["timeout", "timeoutTooLong", "unknownSandbox"]) await replay("sdkSetTimeout", name, place);
  for (const name of ["hibernated", "unknownSandbox"]) await replay("sdkHibernate", name, place);
  for (const name of ["awake", "timeoutTooLong", "unknownSandbox"]) await replay("sdkWake", name, place);
  await replay("sdkDeleteSandbox", "deleted", place);
});

it("has replayed every example that there is", () => {
  const all = calls.flatMap((call) => exchangesOf(call).map(({ name }) => `${call.operation.operationId} ${name}`));
  expect([...replayed].toSorted()).toEqual(all.toSorted());
});
