import { reset, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { afterEach, expect, it, vi } from "vitest";
import { evict, forgetContainers, withContainer } from "./fake-container";

// Who is in a room, over the worker and its object. Tokens and names: tests/edge, tests/data/edge.json.

afterEach(async () => {
  await reset();
  forgetContainers();
});

const object = (room: string) => env.SANDBOX.getByName(`sandbox-${room}`);

interface People {
  you: string;
  people: { id: string; name: string; state: string }[];
}

/** A client that is present. */
class Client {
  readonly #socket: WebSocket;
  readonly #heard: string[] = [];
  closed: { code: number } | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      this.#heard.push(`${data}`);
    });
    socket.addEventListener("close", ({ code }) => {
      this.closed = { code };
    });
    socket.accept();
  }

  static async in(room: string, name: string): Promise<Client> {
    const { webSocket, status } = await come(room, name);
    if (!webSocket) throw new Error(`${status} instead of a socket`);
    return new Client(webSocket);
  }

  /** What it was told last, once that is these names in this order. */
  told(...names: string[]): Promise<People> {
    return vi.waitFor(() => {
      const last: People = JSON.parse(this.#heard.at(-1) ?? '{"people":[]}');
      expect(last.people.map(({ name }) => name)).toEqual(names);
      return last;
    });
  }

  said(text: string): Promise<void> {
    return vi.waitFor(() => expect(this.#heard).toContain(text));
  }

  send(message: string | ArrayBuffer): void {
    this.#socket.send(message);
  }

  leave(): void {
    this.#socket.close(1000);
  }

  closes(code: number): Promise<void> {
    return vi.waitFor(() => expect(this.closed).toEqual({ code }));
  }
}

const come = (room: string, name: string) =>
  exports.default.fetch(`http://localhost/api/rooms/${room}/presence?${new URLSearchParams({ name })}`, {
    headers: { upgrade: "websocket" },
  });

it("each is told of all, under the names they give, as they come and leave", async () => {
  const ada = await Client.in("r", "Ada L.");
  await ada.told("Ada L.");
  const script = await Client.in("r", '"><script>alert(1)</script> é');
  const { you, people } = await ada.told("Ada L.", '"><script>alert(1)</script> é');
  expect(you).toBe(people[0]?.id);
  expect((await script.told("Ada L.", '"><script>alert(1)</script> é')).you).toBe(people[1]?.id);
  const other = await Client.in("other", "Grace");
  await other.told("Grace");
  script.leave();
  await ada.told("Ada L.");
});

it("who spoke last comes first, with what was said", async () => {
  const [a, b, c] = [await Client.in("r", "a"), await Client.in("r", "b"), await Client.in("r", "c")];
  await c.told("a", "b", "c");
  c.send("80x24");
  await a.told("c", "a", "b");
  b.send("100x30");
  expect((await a.told("b", "c", "a")).people.map(({ state }) => state)).toEqual(["100x30", "80x24", ""]);
  c.send("81x24");
  expect((await a.told("c", "b", "a")).people[0]?.state).toBe("81x24");
});

it("nobody's word is longer than it may be, or of bytes, and a ping is not one", async () => {
  const [a, b] = [await Client.in("r", "a"), await Client.in("r", "b")];
  await a.told("a", "b");
  b.send("ping");
  await b.said("pong");
  b.send("é".repeat(128));
  await a.told("b", "a");
  b.send(`${"é".repeat(128)}.`);
  await b.closes(1009);
  await a.told("a");
  a.send(new ArrayBuffer(1));
  await a.closes(1003);
});

it("there are so many at a time", async () => {
  const clients = await Promise.all(Array.from({ length: 64 }, (_, n) => Client.in("r", `${n}`)));
  const refused = await come("r", "one more");
  expect(refused.status).toBe(429);
  expect(await refused.json()).toMatchObject({ code: "too_many_requests", error: expect.stringContaining("has left") });
  clients[0]?.leave();
  await vi.waitFor(async () => expect((await come("r", "now")).status).toBe(101));
});

it("starts nothing, makes no room, and is no use of one", () =>
  withContainer("sandbox-r", async (sandbox, container, { storage }) => {
    const client = await Client.in("r", "a");
    await client.told("a");
    client.send("word");
    expect(container.running).toBe(false);
    expect([...storage.kv.list()]).toEqual([]);
    expect(await storage.getAlarm()).toBeNull();
    expect(sandbox.status().name).toBe("room");
  }));

it("ends with the room", async () => {
  const client = await Client.in("r", "a");
  await runInDurableObject(object("r"), (sandbox) => sandbox.destroy());
  await client.closes(4410);
  await (await Client.in("r", "b")).told("b");
});

it("outlives the object's instance, as the platform holds the sockets", async () => {
  const [a, b] = [await Client.in("r", "a"), await Client.in("r", "b")];
  await a.told("a", "b");
  b.send("word");
  await a.told("b", "a");
  await evict("sandbox-r");
  const c = await Client.in("r", "c");
  await c.told("b", "a", "c");
  a.send("another");
  expect((await c.told("a", "b", "c")).people.map(({ state }) => state)).toEqual(["another", "word", ""]);
});
