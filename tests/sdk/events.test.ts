import { describe, expect, it } from "vitest";
import { ConnectionError, type ExecEvent } from "../../sdk/index";
import { answered, error, json, RESULT, type Reply, roomOf, serve } from "./server";
import { breaks, exit, type Script, sockets, stays } from "./sockets";

const EVENTS: [id: number, event: string, data: unknown][] = [
  [1, "start", { id: "exec_1", sandboxName: "sandbox-r" }],
  [4, "stdout", { data: "é\n" }],
  [6, "stderr", { data: "e\n" }],
  [7, "exit", { result: RESULT, sandboxName: "sandbox-r" }],
];
const textAfter = (id: number) =>
  EVENTS.filter(([each]) => each > id)
    .map(([each, event, data]) => `id: ${each}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
    .join("");

/** Answers with the events after the one that was asked for, and hangs up after so many bytes of them. */
const upTo =
  (bytes: number): Reply =>
  (response, { headers }) => {
    const rest = Buffer.from(textAfter(Number(headers["last-event-id"] ?? 0)));
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (bytes >= rest.length) response.end(rest);
    else response.write(rest.subarray(0, bytes), () => response.destroy());
  };

async function all<T>(events: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const event of events) list.push(event);
  return list;
}
const WHOLE: ExecEvent[] = [
  { type: "start", sequence: 1, id: "exec_1", sandboxName: "sandbox-r" },
  { type: "stdout", sequence: 4, data: "é\n" },
  { type: "stderr", sequence: 6, data: "e\n" },
  { type: "exit", sequence: 7, result: RESULT as never },
];
const kindsOf = (received: { method: string; url: string }[]) =>
  received.map(({ method, url }) => `${method} ${url.split("/").at(-1)}`);

describe("events", () => {
  it("are the same wherever the line breaks", async () => {
    const size = Buffer.from(textAfter(0)).length;
    const cutAt = async (cut: number) => {
      const { url, received } = await serve(upTo(cut), upTo(cut % 50), upTo(size));
      expect(await all(roomOf(url).execution("exec_1").events()), `${cut}`).toEqual(WHOLE);
      const asked = received.map(({ headers }) => Number(headers["last-event-id"] ?? 0));
      expect(asked).toEqual([...asked].sort((a, b) => a - b));
    };
    await Promise.all(Array.from({ length: size + 1 }, (_, cut) => cutAt(cut)));
  }, 30_000);

  it("may begin later, and be none", async () => {
    const { url, received } = await serve(upTo(1000), (response) => response.writeHead(204).end());
    const execution = roomOf(url).execution("exec_1");
    expect(await all(execution.events({ after: 4 }))).toEqual(WHOLE.slice(2));
    expect(await all(execution.events({ after: 7 }))).toEqual([]);
    expect(received.map(({ headers }) => headers["last-event-id"])).toEqual(["4", "7"]);
  });

  it("end with an error where the line brings nothing, and where what follows is gone", async () => {
    const silent = await serve(upTo(0));
    const read = all(roomOf(silent.url, { retries: 2 }).execution("e").events());
    await expect(read).rejects.toBeInstanceOf(ConnectionError);
    expect(silent.received.length).toBeGreaterThanOrEqual(3);
    const gone = await serve(upTo(60), error(410, "gone"));
    await expect(all(roomOf(gone.url).execution("e").events())).rejects.toMatchObject({ code: "gone" });
  });
});

describe("a stream", () => {
  const started = json(202, { result: { ...RESULT, status: "running" }, sandboxName: "sandbox-r" });
  const text = (events: ExecEvent[]) => events.map((event) => (event.type === "stdout" ? event.data : "")).join("");
  const says =
    (bytes: number[], then: Script): Script =>
    (socket) => {
      const after = Number(socket.url.searchParams.get("after"));
      socket.open().say({ type: "start", id: "exec_1", sandboxName: "sandbox-r", sequence: after });
      for (const byte of bytes.slice(after - 1)) socket.say([1, byte]);
      then(socket.say([4]));
    };
  const BYTES = [...Buffer.from("\ufeffé😀\n"), 0xc3];

  it("is a detached command with no input, whose time is bounded, and is resumed", async () => {
    const { url, received } = await serve(started, answered);
    const { made, WebSocket } = sockets(says(BYTES.slice(0, 4), breaks), says(BYTES, exit));
    const events = await all(roomOf(url, { WebSocket }).stream("x"));
    const bounds = { timeout_ms: 60_000, max_run_after_disconnect_ms: 30_000 };
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cmd: "x", detach: true, stdin: "", ...bounds });
    expect(made.map((socket) => socket.url.searchParams.get("after"))).toEqual(["1", "5"]);
    expect(events[0]).toEqual(WHOLE[0]);
    expect(text(events)).toBe("\ufeffé😀\n\ufffd");
    expect(events.at(-1)).toMatchObject({ type: "exit", result: RESULT });
  });

  it("gives bytes as they come", async () => {
    const { url } = await serve(started, answered);
    const { WebSocket } = sockets(says(BYTES, exit));
    const bytes: number[] = [];
    for await (const event of roomOf(url, { WebSocket }).stream("x", { output: "bytes" })) {
      if (event.type === "stdout") bytes.push(...event.data);
    }
    expect(bytes).toEqual(BYTES);
  });

  it("kills its command when it is left, once, and not when it has ended", async () => {
    const left = await serve(started, answered);
    const { made, WebSocket } = sockets(says(BYTES, stays));
    for await (const { type } of roomOf(left.url, { WebSocket }).stream("x")) if (type === "stdout") break;
    expect(kindsOf(left.received)).toEqual(["POST exec", "POST kill"]);
    await expect.poll(() => made[0]?.readyState).toBe(3);
    const ended = await serve(started, answered);
    const toEnd = sockets(says(BYTES, exit)).WebSocket;
    for await (const { type } of roomOf(ended.url, { WebSocket: toEnd }).stream("x")) if (type === "exit") break;
    expect(kindsOf(ended.received)).toEqual(["POST exec", "GET exec_1"]);
  });

  it("kills its command when it is aborted, while nothing comes too", async () => {
    const { url, received } = await serve(started, answered);
    const { made, WebSocket } = sockets(says([], stays));
    const abort = new AbortController();
    const read = all(roomOf(url, { WebSocket }).stream("x", { signal: abort.signal }));
    await expect.poll(() => made[0]?.readyState).toBe(1);
    abort.abort();
    await expect(read).rejects.toMatchObject({ name: "AbortError" });
    expect(kindsOf(received)).toEqual(["POST exec", "POST kill"]);
  });

  it("ends with an error, and no exit, where its sandbox died", async () => {
    const { url } = await serve(started, json(200, { result: { ...RESULT, status: "failed", error: "it stopped" } }));
    const { WebSocket } = sockets(says(BYTES, (socket) => socket.close(1011)));
    const events = await all(roomOf(url, { WebSocket }).stream("x"));
    expect(events.at(-1)).toMatchObject({ type: "error", error: { code: "execution_failed", message: "it stopped" } });
    expect(events.filter(({ type }) => type === "exit" || type === "error")).toHaveLength(1);
  });

  it("over one line is the call itself, and says when that broke", async () => {
    const { url, received } = await serve(upTo(1000), upTo(70));
    const room = roomOf(url);
    expect(await all(room.stream("x", { resume: false }))).toEqual(WHOLE);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cmd: "x", stream: true });
    await expect(all(room.stream("x", { resume: false }))).rejects.toBeInstanceOf(ConnectionError);
    expect(kindsOf(received)).toEqual(["POST exec", "POST exec"]);
  });
});
