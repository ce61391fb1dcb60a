import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ConnectionError, RoomboxError } from "../../sdk/index";
import { answered, breakOff, error, hangUp, json, RESULT, roomOf, serve } from "./server";

const thrown = (promise: Promise<unknown>): Promise<RoomboxError> =>
  promise.then(
    () => Promise.reject(new Error("it did not throw")),
    (reason) => reason,
  );

describe("a call", () => {
  it("says in the API's words what was asked for", async () => {
    const { url, received } = await serve(answered);
    const room = roomOf(`${url}/`, { token: "secret" });
    const how = { cwd: "/tmp", env: { A: "1" }, timeoutMs: 5, stdin: "in", output: "text" } as const;
    expect(await room.exec("x", how)).toEqual(RESULT);
    const [call] = received;
    expect([call?.method, call?.url]).toEqual(["POST", "/api/rooms/r/sandbox/exec"]);
    expect(JSON.parse(call?.body ?? "")).toEqual({
      cmd: "x",
      cwd: "/tmp",
      env: { A: "1" },
      timeout_ms: 5,
      stdin: "in",
    });
    expect(call?.headers).toMatchObject({ authorization: "Bearer secret", "content-type": "application/json" });
  });

  it("starts nothing that wants a WebSocket where there is none", async () => {
    vi.stubGlobal("WebSocket", undefined);
    onTestFinished(() => void vi.unstubAllGlobals());
    const { url, received } = await serve(answered);
    await expect(roomOf(url).terminal()).rejects.toThrow("no WebSocket");
    await expect(roomOf(url).stream("x").next()).rejects.toThrow("no WebSocket");
    expect(received).toEqual([]);
  });

  it("gives bytes where they are asked for", async () => {
    const { url, received } = await serve(json(200, { result: { ...RESULT, stdout: "AP/+", stderr: "" } }));
    const result = await roomOf(url).exec("x", { output: "bytes" });
    expect([...result.stdout]).toEqual([0, 255, 254]);
    expect(result.stderr).toHaveLength(0);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cmd: "x", encoding: "base64" });
  });

  it("goes below the path of its URL, and refuses what is no URL", async () => {
    const { url, received } = await serve(json(200, { rooms: [] }));
    await roomOf(`${url}/base/`).info();
    expect(received[0]?.url).toBe("/base/api/rooms/r");
    expect(() => roomOf("localhost:8787")).toThrow("http://");
  });
});

describe("a file", () => {
  it("is written on a condition, once, and told with its ETag", async () => {
    const written = json(200, { path: "/a", size: 4 }, { etag: '"1-4"' });
    const { url, received } = await serve(written, written, written, error(412, "precondition_failed"), hangUp);
    const { files } = roomOf(url, { retries: 2 });
    expect(await files.write("/a", "text")).toEqual({ path: "/a", size: 4, etag: '"1-4"' });
    await files.write("/a", "text", { ifMatch: '"1-4"' });
    await files.write("/a", "text", { ifAbsent: true });
    const conditions = received.map(({ headers }) => [headers["if-match"], headers["if-none-match"]]);
    expect(conditions).toEqual([
      [undefined, undefined],
      ['"1-4"', undefined],
      [undefined, "*"],
    ]);
    const again = () => thrown(files.write("/a", "text", { ifMatch: '"1-4"' }));
    expect(await again()).toMatchObject({ status: 412, code: "precondition_failed" });
    expect(await again()).toBeInstanceOf(ConnectionError); // what a second try finds may be what the first has made
    expect(received).toHaveLength(5);
  });
});

describe("an error", () => {
  it("has what the answer says", async () => {
    const details = { cmd: ["Command cannot be empty"] };
    const headers = { "x-request-id": "trace-1" };
    const { url } = await serve(json(400, { error: "invalid request", code: "invalid_request", details }, headers));
    const reason = await thrown(roomOf(url).exec(""));
    expect(reason).toBeInstanceOf(RoomboxError);
    expect(reason).toMatchObject({ status: 400, code: "invalid_request", details, requestId: "trace-1" });
    expect(reason.message).toBe("invalid request; cmd: Command cannot be empty");
  });

  it("is told from its status where HEAD has no body, and from neither where it is not ours", async () => {
    const head = await serve((response) => response.writeHead(404).end());
    expect(await thrown(roomOf(head.url).files.stat("/x"))).toMatchObject({ status: 404, code: "not_found" });
    const other = await serve((response) => response.writeHead(502).end("<html>"));
    const reason = await thrown(roomOf(other.url).info());
    expect(reason).toMatchObject({ status: 502, code: "unexpected_answer" });
    expect(reason.message).toContain("is the URL right?");
  });

  it("is a ConnectionError with the reason where there is no answer", async () => {
    const { url } = await serve(hangUp);
    const reason = await thrown(roomOf(url, { retries: 0 }).info());
    expect(reason).toBeInstanceOf(ConnectionError);
    expect(reason).toMatchObject({ status: 0, code: "connection" });
    expect(reason.message).toContain("socket hang up" in reason ? "" : url);
  });
});

describe("a retry", () => {
  it("brings exec's own key each time, and another with the next call", async () => {
    const busy = error(503, "unavailable", { "retry-after": "0" });
    const { url, received } = await serve(hangUp, breakOff, busy, answered);
    const room = roomOf(url);
    expect((await room.exec("x")).stdout).toBe("out\n");
    const keys = received.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    await room.exec("x");
    expect(received.at(-1)?.headers["idempotency-key"]).not.toBe(keys[0]);
  });

  it("waits as long as it is told to", async () => {
    const { url, received } = await serve(error(429, "too_many_requests", { "retry-after": "1" }), answered);
    const began = performance.now();
    await roomOf(url).exec("x");
    expect(performance.now() - began).toBeGreaterThanOrEqual(990);
    expect(received).toHaveLength(2);
  });

  it("is not made where that would take too long, nor more often than it may", async () => {
    const patient = await serve(error(429, "too_many_rooms", { "retry-after": "60" }));
    expect(await thrown(roomOf(patient.url).exec("x"))).toMatchObject({ code: "too_many_rooms", retryAfter: 60 });
    expect(patient.received).toHaveLength(1);
    const dead = await serve(hangUp);
    await thrown(roomOf(dead.url, { retries: 2 }).info());
    expect(dead.received).toHaveLength(3);
  });

  it("is made of what may be done twice, and of what was not done", async () => {
    const room = (url: string) => roomOf(url, { retries: 1 });
    const cases: [
      name: string,
      call: (url: string) => Promise<unknown>,
      tried: [hungUp: number, busy: number, limited: number],
    ][] = [
      ["GET", (url) => room(url).info(), [2, 2, 2]],
      ["DELETE", (url) => room(url).delete(), [2, 2, 2]],
      ["PUT", (url) => room(url).files.write("/a", "text"), [2, 2, 2]],
      ["PUT of a stream", (url) => room(url).files.write("/a", new Blob(["text"]).stream()), [1, 1, 1]],
      ["stdin", (url) => room(url).execution("e").stdin("x"), [1, 1, 2]],
      ["SIGINT", (url) => room(url).execution("e").kill("SIGINT"), [1, 1, 2]],
      ["SIGKILL", (url) => room(url).execution("e").kill(), [2, 2, 2]],
      ["start", (url) => room(url).start("x"), [2, 2, 2]],
    ];
    const replies = [hangUp, error(503, "unavailable"), error(429, "too_many_requests")];
    for (const [name, call, tried] of cases) {
      const counts: number[] = [];
      for (const reply of replies) {
        const { url, received } = await serve(reply);
        await thrown(call(url));
        counts.push(received.length);
      }
      expect([name, ...counts]).toEqual([name, ...tried]);
    }
  });

  it("is not made of other errors", async () => {
    for (const status of [400, 401, 403, 404, 409, 500, 502]) {
      const { url, received } = await serve(error(status, "internal"));
      await thrown(roomOf(url).info());
      expect([status, received.length]).toEqual([status, 1]);
    }
  });

  it("ends at once with the signal, and with its reason", async () => {
    const { url, received } = await serve(error(503, "unavailable", { "retry-after": "20" }));
    const abort = new AbortController();
    const call = thrown(roomOf(url).exec("x", { signal: abort.signal }));
    await expect.poll(() => received.length).toBe(1);
    const reason = new Error("enough");
    abort.abort(reason);
    expect(await call).toBe(reason);
    expect(await thrown(roomOf(url).exec("x", { signal: abort.signal }))).toBe(reason);
    expect(received).toHaveLength(1);
  });
});

describe("start", () => {
  it("has what it began killed where nobody waits for it any more", async () => {
    let answer = () => {};
    const { url, received } = await serve((response) => {
      answer = () => answered(response, received[0] as never);
    }, answered);
    const abort = new AbortController();
    const call = thrown(roomOf(url).start("x", { signal: abort.signal }));
    await expect.poll(() => received.length).toBe(1);
    abort.abort();
    expect(await call).toMatchObject({ name: "AbortError" });
    answer();
    await expect.poll(() => received.at(-1)?.url).toBe("/api/rooms/r/sandbox/executions/exec_1/kill");
  });
});

describe("a list", () => {
  it("is read page by page, no further than it is asked for", async () => {
    const page = (ids: string[], cursor: string | null) => json(200, { executions: ids.map((id) => ({ id })), cursor });
    const { url, received } = await serve(page(["a", "b"], "2"), page(["c"], null));
    const ids: string[] = [];
    for await (const { id } of roomOf(url).executions({ status: "completed", pageSize: 2 })) ids.push(id);
    expect(ids).toEqual(["a", "b", "c"]);
    const query = "/api/rooms/r/sandbox/executions?status=completed&limit=2";
    expect(received.map((each) => each.url)).toEqual([query, `${query}&cursor=2`]);
    for await (const _ of roomOf(url).executions()) break;
    expect(received).toHaveLength(3);
  });
});
