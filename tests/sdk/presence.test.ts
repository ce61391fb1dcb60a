import { expect, it, vi } from "vitest";
import type { People, WebSocketClass } from "../../sdk/index";
import { error, json, roomOf, serve } from "./server";
import { breaks, type Script, sockets, stays } from "./sockets";

// What the client makes of the lines; what the server says on them is tested with the worker.

const told = (...names: string[]): People => ({
  you: "1",
  people: names.map((name) => ({ id: name, name, state: "" })),
});
const tells =
  (...names: string[]) =>
  (then: Script): Script =>
  (socket) => {
    socket
      .open()
      .say("pong")
      .say({ type: "people", ...told(...names) })
      .say({ type: "another" });
    then(socket);
  };
const gone: Script = (socket) => socket.close(4410);

const info = json(200, { roomID: "r" });
const presence = (url: string, WebSocket: WebSocketClass, options: object = {}) =>
  roomOf(url, { WebSocket, retries: 0, ...options }).presence({ name: "Ada L." });

async function all(people: AsyncIterable<People>): Promise<People[]> {
  const heard: People[] = [];
  await (async () => {
    for await (const each of people) heard.push(each);
  })().catch((reason: unknown) => expect(reason).toMatchObject({ code: "gone", status: 410 }));
  return heard;
}

it("is told of who is there, over lines that break, until the room is deleted", async () => {
  const { url } = await serve(info);
  const { made, WebSocket } = sockets(tells("Ada L.")(breaks), breaks, tells("Grace", "Ada L.")(gone));
  expect(await all(presence(url, WebSocket, { token: "a.b.c" }))).toEqual([told("Ada L."), told("Grace", "Ada L.")]);
  expect(made).toHaveLength(3);
  expect(made[0]?.url.pathname).toBe("/api/rooms/r/presence");
  expect(made[0]?.url.searchParams.get("name")).toBe("Ada L.");
  expect(made[0]?.protocols).toEqual(["roombox", "roombox.credential.a.b.c"]);
});

it("tells its state on each line", async () => {
  const { url } = await serve(info);
  const { made, WebSocket } = sockets(tells("Ada L.")(stays), tells("Ada L.")(stays));
  const here = presence(url, WebSocket);
  here.say("early");
  await vi.waitFor(() => expect(made[0]?.sent).toEqual(["early"]));
  here.say("late");
  made[0]?.close(1006);
  await vi.waitFor(() => expect(made[1]?.sent).toEqual(["late"]));
  here.close();
  await vi.waitFor(() => expect(made[1]?.readyState).toBe(3));
  expect(await all(here)).toHaveLength(2);
  expect(made).toHaveLength(2);
});

it("says why there is no line to be had, and comes back no more", async () => {
  const { url, received } = await serve(error(403, "forbidden"));
  const { made, WebSocket } = sockets(breaks);
  await expect(presence(url, WebSocket)[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "forbidden" });
  expect([made.length, received.length]).toEqual([1, 1]);
  const large = sockets(tells("Ada L.")((socket) => socket.close(1009, "too large")));
  const people = presence((await serve(info)).url, large.WebSocket)[Symbol.asyncIterator]();
  expect((await people.next()).value).toEqual(told("Ada L."));
  await expect(people.next()).rejects.toMatchObject({ code: "payload_too_large" });
});

it("ends at once by a signal", async () => {
  const { url } = await serve(info);
  const { made, WebSocket } = sockets(tells("Ada L.")(stays));
  const abort = new AbortController();
  const people = roomOf(url, { WebSocket }).presence({ name: "Ada", signal: abort.signal })[Symbol.asyncIterator]();
  await people.next();
  abort.abort(new Error("enough"));
  await expect(people.next()).rejects.toThrow("enough");
  expect(made[0]?.readyState).toBe(3);
});

it("refuses a name that the server would, and tries it nowhere", () => {
  const { made, WebSocket } = sockets(breaks);
  const room = roomOf("http://127.0.0.1:1", { WebSocket });
  for (const name of ["", "a".repeat(65), "é".repeat(33), "a\nb", "\x7f"])
    expect(() => room.presence({ name })).toThrow("name: expected 1 to 64 bytes");
  expect(made).toHaveLength(0);
  room.presence({ name: "é".repeat(32) }).close();
});
