import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { call, callJson, detach, exec, newRoom, origin, rawRequest, remove } from "./client";

// Servers in a sandbox, reached over the whole chain.

const room = newRoom();
const at = (port: number, path = "") => `/api/rooms/${room}/sandbox/ports/${port}/${path}`;

/** Tells what it was asked, as JSON; streams, redirects, sets what it is told to; echoes on WebSockets. */
const SERVER = `
const { createServer } = require("node:http");
const { createHash } = require("node:crypto");
const server = createServer(async (request, response) => {
  const { method, url, headers } = request;
  if (url.startsWith("/slow")) {
    response.writeHead(200, { "content-type": "text/plain" });
    response.write("first\\n");
    await new Promise((resolve) => setTimeout(resolve, 500));
    return response.end("last\\n");
  }
  if (url === "/moved") return response.writeHead(302, { location: "/elsewhere" }).end();
  if (url === "/dies") {
    response.write("some");
    return setTimeout(() => response.destroy(), 50);
  }
  if (url === "/lies") return response.writeHead(200, { "roombox-outcome": "crashed", "roombox-execution": "exec_x" }).end("ok");
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of request) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  response.writeHead(url === "/teapot" ? 418 : 200, { "content-type": "application/json", "x-mine": "yes", "set-cookie": ["a=1", "b=2"] });
  response.end(JSON.stringify({ method, url, headers, bytes, sha256: hash.digest("hex") }));
});
server.on("upgrade", (request, socket) => {
  const key = request.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\nSec-WebSocket-Protocol: chat\\r\\nSec-WebSocket-Accept: " + createHash("sha1").update(key).digest("base64") + "\\r\\n\\r\\n");
  socket.on("data", (frame) => {
    if ((frame[0] & 15) === 8) return socket.end(Buffer.from([0x88, 0]));
    const length = frame[1] & 127, mask = frame.subarray(2, 6), text = Buffer.from(frame.subarray(6, 6 + length));
    for (let i = 0; i < length; i++) text[i] ^= mask[i % 4];
    socket.write(Buffer.concat([Buffer.from([0x81, length]), text]));
  });
});
server.listen(Number(process.argv[2]), "127.0.0.1");
`;

beforeAll(async () => {
  const put = await call("PUT", `/api/rooms/${room}/sandbox/files/workspace/server.cjs`, SERVER);
  expect(put.status).toBe(201);
  await detach(room, "exec node server.cjs 3000");
});
afterAll(() => remove(room));

it("waits for a server to listen", async () => {
  await detach(room, "sleep 1; exec node server.cjs 3001");
  const { url } = await callJson(200, "GET", at(3001, "ready?wait_ms=20000&b=2"));
  expect(url).toBe("/ready?b=2");
});

it("passes method, path, query, headers and body as they come", async () => {
  await callJson(200, "GET", at(3000, "?wait_ms=10000"));
  const headers = {
    authorization: "Bearer mine",
    cookie: "session=1",
    "x-custom": "väl".normalize(),
    "roombox-token": "forged",
  };
  const path = "a%20b/%E2%82%AC/c?q=1&q=2&empty=&=&%26";
  const got = await callJson(200, "POST", at(3000, path), "body", { ...headers, "x-custom": "v" });
  expect(got).toMatchObject({ method: "POST", url: `/${path}`, bytes: 4 });
  expect(got.headers).toMatchObject({
    authorization: "Bearer mine",
    cookie: "session=1",
    "x-custom": "v",
    host: "localhost:3000",
    "x-forwarded-host": new URL(origin()).host,
    "x-forwarded-proto": "http",
    "x-forwarded-prefix": at(3000).slice(0, -1),
  });
  expect(Object.keys(got.headers).filter((name) => name.startsWith("roombox-"))).toEqual([]);
  for (const method of ["PUT", "PATCH", "DELETE", "OPTIONS"])
    expect(await callJson(200, method, at(3000, "x"))).toMatchObject({ method, url: "/x" });
  expect((await rawRequest("HEAD", at(3000, "x"), {}, undefined)).headers["x-mine"]).toBe("yes");
  // The platform passes no body with GET; that is no reason to fail.
  const get = await rawRequest("GET", at(3000, "x"), { "content-length": "2" }, Buffer.from("xx"));
  expect(JSON.parse(get.text)).toMatchObject({ method: "GET", bytes: 0 });
});

it("answers as the server does: status, headers, redirects", async () => {
  const teapot = await call("GET", at(3000, "teapot"));
  expect(teapot.status).toBe(418);
  expect(teapot.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
  await teapot.text();
  const moved = await fetch(origin() + at(3000, "moved"), { redirect: "manual" });
  expect([moved.status, moved.headers.get("location")]).toEqual([302, "/elsewhere"]);
  const lies = await call("GET", at(3000, "lies"));
  expect([lies.status, await lies.text()]).toEqual([200, "ok"]);
});

it("passes large bodies, and streams unbuffered", async () => {
  const bytes = Buffer.alloc(20_000_000, "x");
  const put = await fetch(origin() + at(3000, "upload"), { method: "PUT", body: bytes });
  expect(await put.json()).toMatchObject({ bytes: bytes.length });
  const began = performance.now();
  // In gzip, to which wrangler dev turns some types as the platform does, it would come in gzip's pieces.
  const slow = await call("GET", at(3000, "slow"), undefined, { "accept-encoding": "identity" });
  const reader = slow.body?.getReader();
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("first\n");
  expect(performance.now() - began).toBeLessThan(450);
  expect(new TextDecoder().decode((await reader?.read())?.value)).toBe("last\n");
});

it("tells an answer that broke off from a whole one", async () => {
  const dies = await call("GET", at(3000, "dies"));
  await expect(dies.text()).rejects.toThrow();
});

it("passes WebSockets", async () => {
  const socket = new WebSocket(origin().replace("http", "ws") + at(3000, "socket"), ["chat"]);
  await once(socket, "open");
  expect(socket.protocol).toBe("chat");
  for (const text of ["one", "two"]) {
    socket.send(text);
    const [{ data }] = (await once(socket, "message")) as [MessageEvent];
    expect(data).toBe(text);
  }
  socket.close();
  await once(socket, "close");
});

describe("says what is wrong", () => {
  it("where nothing listens", async () => {
    expect(await callJson(502, "GET", at(4999))).toMatchObject({
      code: "bad_gateway",
      error: expect.stringContaining("4999"),
    });
    const began = performance.now();
    expect(await callJson(502, "GET", at(4999, "?wait_ms=300"))).toMatchObject({ code: "bad_gateway" });
    expect(performance.now() - began).toBeGreaterThan(290);
  });

  it("with a port or a wait that is none", async () => {
    for (const port of ["0", "65536", "080", "http", "-1", "8080"])
      expect(await callJson(404, "GET", `/api/rooms/${room}/sandbox/ports/${port}/`)).toMatchObject({
        code: "not_found",
      });
    for (const wait of ["-1", "x", "60001", ""])
      expect(await callJson(400, "GET", at(3000, `?wait_ms=${wait}`))).toMatchObject({
        details: { wait_ms: [expect.any(String)] },
      });
  });
});

it("gives the address of a port in the other dialect", async () => {
  const { url, ...rest } = await callJson(200, "POST", `/v1/sandboxes/${room}/ports`, { port: 3000 });
  expect(rest).toMatchObject({ port: 3000 });
  expect(url).toBe(origin() + at(3000));
  expect(await (await fetch(`${url}through`)).json()).toMatchObject({ url: "/through" });
  expect(await callJson(400, "POST", `/v1/sandboxes/${room}/ports`, { port: 0 })).toMatchObject({
    error: { type: "invalid_request" },
  });
});

it("ends a server that its client has left, and no command waits for it", async () => {
  const aborted = new AbortController();
  const slow = await fetch(origin() + at(3000, "slow"), { signal: aborted.signal });
  expect(slow.status).toBe(200);
  aborted.abort();
  expect((await exec(room, "echo ok")).stdout).toBe("ok\n");
});
