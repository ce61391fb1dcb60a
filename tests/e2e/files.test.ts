import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { Sandbox } from "@opencomputer/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { call, callJson, exec, newRoom, origin, rawRequest, remove } from "./client";

// Files in real sandboxes, through the whole chain.

const room = newRoom();
beforeAll(async () => {
  await exec(room, "true");
});
afterAll(async () => {
  await remove(room);
});

const at = (path: string) => `/api/rooms/${room}/sandbox/files/${path}`;
const put = (path: string, body: BodyInit, headers: Record<string, string> = {}) =>
  fetch(origin() + at(path), { method: "PUT", body, headers, duplex: "half" } as RequestInit);
const MEBIBYTE = 1 << 20;

it("is the first call of a room, which it makes", async () => {
  const other = newRoom();
  const reply = await fetch(`${origin()}/api/rooms/${other}/sandbox/files/workspace/a.txt`, {
    method: "PUT",
    body: "a",
  });
  expect([reply.status, await reply.json()]).toEqual([201, { path: "/workspace/a.txt", size: 1 }]);
  expect((await exec(other, "cat a.txt; stat -c %U a.txt")).stdout).toBe("asandbox\n");
  expect(await callJson(200, "GET", `/api/rooms/${other}/sandbox/executions`)).toMatchObject({
    executions: [{ command: "cat a.txt; stat -c %U a.txt" }],
  });
  await remove(other);
  const gone = await call("GET", `/api/rooms/${other}/sandbox/files/workspace/a.txt`);
  expect(gone.status).toBe(404);
  await gone.text();
  await remove(other);
});

it("keeps every byte of a name and of a file", async () => {
  const bytes = randomBytes(100_000);
  const names = ["a%20b", "q'%22%60$(id)%5C", "new%0Aline%0D", "%C3%A9", "%FF%FE", "%2500", "-rf", "%3F%23%26+=;"];
  for (const name of names) {
    const path = at(`workspace/${name}`);
    const made = await rawRequest("PUT", path, {}, bytes);
    expect([made.status, name]).toEqual([201, name]);
    const read = await fetch(origin() + path);
    expect(Buffer.from(await read.arrayBuffer()).equals(bytes)).toBe(true);
    const hex = Buffer.from(
      name.replaceAll(/%(..)/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
      "latin1",
    )
      .toString("hex")
      .replaceAll(/../g, "\\x$&");
    const sum = createHash("sha256").update(bytes).digest("hex");
    expect((await exec(room, `sha256sum < $'/workspace/${hex}'`)).stdout).toBe(`${sum}  -\n`);
    expect((await fetch(origin() + path, { method: "DELETE" })).status).toBe(204);
  }
  expect((await exec(room, "ls -A")).stdout).toBe("");
});

it("passes 100 MB up and down as they are, while memory stays flat", async () => {
  const piece = randomBytes(MEBIBYTE);
  const sum = createHash("sha256");
  for (let i = 0; i < 100; i++) sum.update(piece);
  const expected = sum.digest("hex");
  const resident = async () => Number((await exec(room, "ps -o rss= -p 1")).stdout);
  const before = await resident();
  let pieces = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pieces++ < 100) controller.enqueue(piece);
      else controller.close();
    },
  });
  const made = await put("workspace/large", body);
  expect([made.status, await made.json()]).toEqual([201, { path: "/workspace/large", size: 100 * MEBIBYTE }]);
  expect((await exec(room, "sha256sum < large")).stdout).toBe(`${expected}  -\n`);
  const read = await call("GET", at("workspace/large"));
  expect(read.headers.get("content-length")).toBe(`${100 * MEBIBYTE}`);
  const got = createHash("sha256");
  for await (const chunk of read.body ?? []) got.update(chunk);
  expect(got.digest("hex")).toBe(expected);
  expect((await resident()) - before).toBeLessThan(4096);
}, 60_000);

it("is sent in part, and only if it is another one", async () => {
  const made = await put("workspace/part", "0123456789");
  const etag = made.headers.get("etag") ?? "";
  await made.text();
  const part = await call("GET", at("workspace/part"), undefined, { range: "bytes=2-4" });
  expect([part.status, part.headers.get("content-range"), await part.text()]).toEqual([206, "bytes 2-4/10", "234"]);
  const beyond = await call("GET", at("workspace/part"), undefined, { range: "bytes=10-" });
  expect([beyond.status, beyond.headers.get("content-range")]).toEqual([416, "bytes */10"]);
  await beyond.text();
  const known = await call("GET", at("workspace/part"), undefined, { "if-none-match": etag });
  expect([known.status, known.headers.get("etag"), await known.text()]).toEqual([304, etag, ""]);
  const head = await call("HEAD", at("workspace/part"));
  expect([head.status, head.headers.get("content-length"), head.headers.get("etag")]).toEqual([200, "10", etag]);
  const refused = await put("workspace/part", "x", { "if-match": '"other"' });
  expect(refused.status).toBe(412);
  await refused.text();
});

it("lists, makes and removes directories", async () => {
  expect((await call("PUT", `${at("workspace/d/e")}?mkdir=true`)).status).toBe(201);
  await put("workspace/d/e/f", "12345");
  expect(await callJson(200, "GET", at("workspace/d/e"))).toEqual({
    path: "/workspace/d/e",
    entries: [{ name: "f", type: "file", size: 5, mode: "0644", modifiedAt: expect.stringMatching(/^20.*Z$/) }],
  });
  expect(await callJson(409, "DELETE", at("workspace/d"))).toMatchObject({ code: "conflict" });
  expect((await call("DELETE", `${at("workspace/d")}?recursive=true`)).status).toBe(204);
  expect(await callJson(404, "GET", at("workspace/d"))).toMatchObject({
    error: expect.stringContaining("/workspace/d"),
  });
});

it("goes nowhere that a command may not", async () => {
  await exec(room, "ln -s /etc/shadow shadow; ln -s /proc/1/environ environ; mkfifo pipe");
  for (const path of [
    "etc/shadow",
    "workspace/shadow",
    "workspace/environ",
    "proc/1/environ",
    "root/a",
    "proc/self/mem",
  ]) {
    expect(await callJson(403, "GET", at(path))).toMatchObject({ code: "forbidden" });
    expect(await callJson(403, "PUT", at(path), "x")).toMatchObject({ code: "forbidden" });
  }
  expect(await callJson(409, "GET", at("workspace/pipe"))).toMatchObject({ code: "conflict" });
});

it("refuses a large file at once where it cannot be", async () => {
  const reply = await put("nowhere/a", new Uint8Array(20 * MEBIBYTE));
  expect([reply.status, await reply.json()]).toMatchObject([404, { error: expect.stringContaining("/nowhere") }]);
});

it.each(["with a declared length", "in chunks"])("stays as it was when its client leaves, %s", async (coding) => {
  await (await put("workspace/kept", "before")).text();
  const { hostname, port } = new URL(origin());
  const client = httpRequest({ hostname, port, method: "PUT", path: at("workspace/kept"), agent: false });
  client.on("error", () => undefined);
  if (coding === "with a declared length") client.setHeader("content-length", 4 * MEBIBYTE);
  client.write(Buffer.alloc(3 * MEBIBYTE));
  const temporaries = async () => (await exec(room, "ls -A | grep -c ^.roombox-")).stdout.trim();
  await expect.poll(temporaries).toBe("1");
  client.destroy();
  await expect.poll(temporaries, { timeout: 5000 }).toBe("0");
  expect((await exec(room, "wc -c < kept")).stdout).toBe("6\n");
});

it("is the same for v1", async () => {
  const v1 = (query: string) => `/v1/sandboxes/${room}/files?${new URLSearchParams(query)}`;
  const path = "path=/workspace/v1 and %2B";
  expect(await callJson(201, "PUT", v1(path), "12345")).toEqual({
    object: "file",
    path: "/workspace/v1 and +",
    size: 5,
  });
  expect(await (await call("GET", v1(path))).text()).toBe("12345");
  const { data } = await callJson(200, "GET", v1("path=/workspace&list=true"));
  expect(data).toContainEqual(expect.objectContaining({ object: "file", path: "/workspace/v1 and +", size: 5 }));
  expect(await callJson(409, "GET", v1("path=/workspace"))).toMatchObject({ error: { type: "conflict" } });
  expect((await call("DELETE", v1(path))).status).toBe(204);
  expect(await callJson(404, "GET", v1(path))).toMatchObject({ error: { type: "not_found" } });
});

it("is the same for the SDK", async () => {
  const { files } = await Sandbox.connect(room, { apiUrl: origin(), apiKey: "none" });
  const bytes = randomBytes(1000);
  await files.makeDir("/workspace/sdk");
  await files.write("/workspace/sdk/a b+", bytes);
  expect(Buffer.from(await files.readBytes("/workspace/sdk/a b+")).equals(bytes)).toBe(true);
  expect(await files.list("/workspace/sdk")).toEqual([
    { name: "a b+", isDir: false, path: "/workspace/sdk/a b+", size: 1000 },
  ]);
  await files.remove("/workspace/sdk/a b+");
  expect(await files.exists("/workspace/sdk/a b+")).toBe(false);
  await expect(files.remove("/workspace/sdk/a b+")).rejects.toThrow("404");
});
