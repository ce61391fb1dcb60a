import { describe, expect, it, vi } from "vitest";
import { type Attachment, ConnectionError, type Output, type WebSocketClass } from "../../sdk/index";
import { answered, error, json, RESULT, roomOf, serve } from "./server";
import { breaks, exit, type FakeSocket, LOG, type Script, sockets, stays, tell } from "./sockets";

async function bytesOf(attachment: Attachment): Promise<Buffer> {
  const pieces: Output[] = [];
  for await (const output of attachment) pieces.push(output);
  for (const { stream, data } of pieces) expect(stream).toBe((data[0] ?? 0) % 2 === 0 ? "stdout" : "stderr");
  return Buffer.concat(pieces.map(({ data }) => data));
}

const running = json(200, { result: { ...RESULT, status: "running" } });
const attach = (url: string, WebSocket: WebSocketClass, options: object = {}, token?: string) =>
  roomOf(url, { WebSocket, retries: 2, ...(token !== undefined && { token }) })
    .execution("exec_1")
    .attach(options);

describe("output", () => {
  it("is whole wherever lines break", async () => {
    const { url } = await serve(running);
    const cutAt = async (cut: number) => {
      const { made, WebSocket } = sockets(tell(cut, breaks), tell(cut + 3, breaks), tell(LOG.length, exit));
      const attachment = await attach(url, WebSocket);
      expect((await bytesOf(attachment)).equals(LOG), `${cut}`).toBe(true);
      expect(await attachment.exit).toBe(7);
      expect(made.map((socket) => socket.url.searchParams.get("after"))).toEqual(
        [null, 1 + cut, 1 + Math.min(cut + 3, LOG.length)].map((at) => (at === null ? at : `${at}`)),
      );
    };
    await Promise.all(Array.from({ length: LOG.length + 1 }, (_, cut) => cutAt(cut)));
  });

  it("is told apart in what was there before the line, and what came on it", async () => {
    const { url } = await serve(running);
    const live: Script = (socket) => socket.say([1, 65]).close(1006);
    const { WebSocket } = sockets(tell(2, live), tell(LOG.length, exit));
    const attachment = await attach(url, WebSocket);
    const told: boolean[] = [];
    for await (const { isPast } of attachment) told.push(isPast);
    expect(told.slice(0, 4)).toEqual([true, true, false, true]);
  });

  it("ends where the past does, if that is all that is wanted", async () => {
    const { url } = await serve(running);
    const { made, WebSocket } = sockets(tell(5, stays));
    const attachment = await attach(url, WebSocket, { follow: false });
    expect(`${await bytesOf(attachment)}`).toBe("the o");
    await vi.waitFor(() => expect(made[0]?.readyState).toBe(3));
  });

  it("is not waited for by an iteration that was left", async () => {
    const { url } = await serve(running);
    const { WebSocket } = sockets(tell(LOG.length, exit));
    const attachment = await attach(url, WebSocket);
    const read: number[] = [];
    for await (const { data } of attachment) if (read.push(...data) === 4) break;
    for await (const { data } of attachment) read.push(...data);
    expect(read).toEqual([...LOG]);
  });
});

describe("an end without an exit", () => {
  it("is the error of the record", async () => {
    const { url } = await serve(json(200, { result: { ...RESULT, status: "failed", error: "the sandbox stopped" } }));
    const { WebSocket } = sockets(tell(3, (socket) => socket.close(1011)));
    const attachment = await attach(url, WebSocket);
    await expect(bytesOf(attachment)).rejects.toMatchObject({
      code: "execution_failed",
      message: "the sandbox stopped",
    });
    await expect(attachment.exit).rejects.toMatchObject({ code: "execution_failed" });
  });

  it("is an error where this client broke the rules, where lines go on breaking, and where the server says nonsense", async () => {
    const { url } = await serve(running);
    const refused = sockets(tell(3, (socket) => socket.close(1003, "expected something else")));
    await expect(bytesOf(await attach(url, refused.WebSocket))).rejects.toThrow("expected something else");
    expect(refused.made).toHaveLength(1);
    const silent = sockets((socket) => socket.open().close(1006));
    await expect((await attach(url, silent.WebSocket)).exit).rejects.toBeInstanceOf(ConnectionError);
    expect(silent.made).toHaveLength(3);
    const nonsense = sockets((socket) => socket.open().say([9]));
    await expect((await attach(url, nonsense.WebSocket)).exit).rejects.toMatchObject({ code: "unexpected_answer" });
  });

  it("comes of leaving", async () => {
    const { url } = await serve(running);
    const { made, WebSocket } = sockets(tell(3, stays));
    const attachment = await attach(url, WebSocket);
    attachment.close();
    expect(`${await bytesOf(attachment)}`).toBe("the");
    await expect(attachment.exit).rejects.toThrow("left");
    await expect(attachment.write("x")).rejects.toMatchObject({ code: "conflict" });
    await vi.waitFor(() => expect(made[0]?.readyState).toBe(3));
  });

  it("comes of the signal", async () => {
    const { url } = await serve(running);
    const { WebSocket } = sockets(tell(3, stays));
    const abort = new AbortController();
    const attachment = await attach(url, WebSocket, { signal: abort.signal });
    abort.abort();
    await expect(bytesOf(attachment)).rejects.toMatchObject({ name: "AbortError" });
    await expect(attach(url, sockets(stays).WebSocket, { signal: abort.signal })).rejects.toThrow("aborted");
  });
});

describe("a refused socket", () => {
  const refuses: Script = (socket) => {
    socket.dispatchEvent(new Event("error"));
    socket.close(1006);
  };

  it("is told as the API tells it", async () => {
    for (const [status, code] of [
      [401, "unauthorized"],
      [404, "not_found"],
      [410, "gone"],
    ] as const) {
      const { url, received } = await serve(error(status, code));
      const reason = await attach(url, sockets(refuses).WebSocket, { after: 9 }).catch((each) => each);
      expect(reason).toMatchObject({ status, code });
      expect(received[0]?.headers["last-event-id"]).toBe("9");
    }
  });

  it("is a ConnectionError where nobody may say why", async () => {
    const { url } = await serve(error(403, "forbidden"));
    const { made, WebSocket } = sockets(refuses);
    await expect(attach(url, WebSocket)).rejects.toBeInstanceOf(ConnectionError);
    expect(made).toHaveLength(3);
  });
});

describe("a credential", () => {
  it("goes as a protocol, or by a ticket where it cannot, and never in the URL", async () => {
    const { url, received } = await serve(json(201, { ticket: "one use", expiresAt: "" }));
    const plain = sockets(tell(3, exit));
    await attach(url, plain.WebSocket, {}, "eyJ.a-b_c");
    expect(plain.made[0]?.protocols).toEqual(["roombox", "roombox.credential.eyJ.a-b_c"]);
    expect(received).toHaveLength(0);
    const odd = sockets(tell(3, exit));
    await attach(url, odd.WebSocket, {}, "a/b+c=");
    expect([odd.made[0]?.protocols, odd.made[0]?.url.search]).toEqual([[], "?ticket=one+use"]);
    expect(received.map((call) => [call.url, call.headers.authorization])).toEqual([
      ["/api/rooms/r/tickets", "Bearer a/b+c="],
    ]);
  });
});

describe("input", () => {
  it("goes as bytes behind a zero, what else is asked for as text", async () => {
    const { url } = await serve(running);
    const { made, WebSocket } = sockets(tell(0, stays));
    const attachment = await attach(url, WebSocket);
    await attachment.write("é");
    await attachment.write(Uint8Array.of(0, 255));
    await attachment.resize(100, 30);
    await attachment.signal("SIGINT");
    await attachment.end();
    expect(made[0]?.sent.map((each) => (typeof each === "string" ? JSON.parse(each) : [...each]))).toEqual([
      [0, 0xc3, 0xa9],
      [0, 0, 255],
      { type: "resize", cols: 100, rows: 30 },
      { type: "signal", signal: "SIGINT" },
      { type: "stdin-eof" },
    ]);
  });

  it("says once after a lost line that some may be lost, and only if there was any", async () => {
    const { url } = await serve(running);
    const { made, WebSocket } = sockets(tell(3, stays));
    const attachment = await attach(url, WebSocket);
    breaks(made[0] as FakeSocket);
    await vi.waitFor(() => expect(made).toHaveLength(2));
    await attachment.write("a");
    breaks(made[1] as FakeSocket);
    await vi.waitFor(() => expect(made).toHaveLength(3));
    await expect(attachment.write("b")).rejects.toBeInstanceOf(ConnectionError);
    await attachment.write("c");
    expect(made[2]?.sent).toEqual([Uint8Array.of(0, 99)]);
  });

  it("waits while much is to be sent", async () => {
    const { url } = await serve(running);
    const { made, WebSocket } = sockets(tell(0, stays));
    const attachment = await attach(url, WebSocket);
    const socket = made[0] as FakeSocket;
    socket.bufferedAmount = 2 << 20;
    let isDone = false;
    const written = attachment.write("x").then(() => {
      isDone = true;
    });
    await vi.waitFor(() => expect(socket.sent).toHaveLength(1));
    expect(isDone).toBe(false);
    socket.bufferedAmount = 0;
    await written;
  });

  it("that is refused is told", async () => {
    const { url } = await serve(answered);
    const refusals: unknown[] = [];
    const refusal = { error: "the execution does not run in a terminal", code: "conflict" };
    const { WebSocket } = sockets(tell(0, (socket) => exit(socket.say(refusal))));
    const attachment = await attach(url, WebSocket, { onRefused: (each: unknown) => refusals.push(each) });
    expect(await attachment.exit).toBe(7);
    expect(refusals).toMatchObject([{ code: "conflict", message: refusal.error }]);
  });
});
