import { describe, expect, it } from "vitest";
import { ConnectionError, type ExecEvent } from "../../sdk/index";
import { answered, error, json, RESULT, type Reply, roomOf, serve } from "./server";

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

  it("is a detached command with no input, whose time is bounded, and is resumed", async () => {
    const { url, received } = await serve(started, upTo(75), upTo(1000));
    expect(await all(roomOf(url).stream("x"))).toEqual(WHOLE);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cmd: "x", detach: true, stdin: "", timeout_ms: 60_000 });
    expect(kindsOf(received)).toEqual(["POST exec", "GET events", "GET events"]);
  });

  it("kills its command when it is left, once, and not when it has ended", async () => {
    const left = await serve(started, upTo(1000), answered);
    for await (const { type } of roomOf(left.url).stream("x")) if (type === "stdout") break;
    expect(kindsOf(left.received)).toEqual(["POST exec", "GET events", "POST kill"]);
    const ended = await serve(started, upTo(1000), answered);
    for await (const { type } of roomOf(ended.url).stream("x")) if (type === "exit") break;
    expect(kindsOf(ended.received)).toEqual(["POST exec", "GET events"]);
  });

  it("kills its command when it is aborted, while nothing comes too", async () => {
    const waits: Reply = (response) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const { url, received } = await serve(started, waits, answered);
    const abort = new AbortController();
    const read = all(roomOf(url).stream("x", { signal: abort.signal }));
    await expect.poll(() => received.length).toBe(2);
    abort.abort();
    await expect(read).rejects.toMatchObject({ name: "AbortError" });
    expect(kindsOf(received)).toEqual(["POST exec", "GET events", "POST kill"]);
  });

  it("over one line is the call itself, and says when that broke", async () => {
    const { url, received } = await serve(upTo(1000), upTo(70));
    const room = roomOf(url);
    expect(await all(room.stream("x", { resume: false }))).toEqual(WHOLE);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ cmd: "x", stream: true });
    await expect(all(room.stream("x", { resume: false }))).rejects.toThrow();
    expect(kindsOf(received)).toEqual(["POST exec", "POST exec"]);
  });
});
