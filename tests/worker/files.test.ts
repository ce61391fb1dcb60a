import { env, exports } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { withEndMark } from "../../worker/end-mark";
import { outcomeName } from "../../worker/outcome";
import { containerOf, notListening, withContainer } from "./fake-container";

// Calls about files through worker, core and object, to an agent that is a fake one.

const fetch = (url: string, init?: RequestInit) => exports.default.fetch(`http://localhost${url}`, init);
const file = (room: string, path: string) => `/api/rooms/${room}/sandbox/files/${path}`;
const containerIn = (room: string) => containerOf(env.SANDBOX.getByName(`sandbox-${room}`).id);
const request = (body?: BodyInit) =>
  new Request("http://sandbox/files?/a", { method: body === undefined ? "GET" : "PUT", body: body ?? null });

beforeEach(() => {
  vi.spyOn(console, "error").mockReturnValue();
  return () => vi.restoreAllMocks();
});

describe("a file", () => {
  it("is put, got and deleted in either dialect, in a sandbox that is made for it", async () => {
    const name = "tmp/a%20'%22%0A%FF";
    const put = await fetch(file("both", name), { method: "PUT", body: "bytes" });
    expect([put.status, await put.json()]).toEqual([201, { path: "/tmp/a%20%27%22%0A%FF", size: 5 }]);
    const got = await fetch(`/v1/sandboxes/both/files?path=/${name}`);
    expect([got.status, got.headers.get("etag"), await got.text()]).toEqual([200, '"tag"', "bytes"]);
    const part = await fetch(file("both", name), { headers: { range: "bytes=1-2" } });
    expect([part.status, await part.text()]).toEqual([206, "yt"]);
    const head = await fetch(file("both", name), { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await fetch(file("both", name), { method: "DELETE" })).status).toBe(204);
    expect((await fetch(file("both", name))).status).toBe(404);
    expect(containerIn("both").starts).toBe(1);
    expect(await (await fetch("/api/rooms/both/sandbox/executions")).json()).toMatchObject({ executions: [] });
  });

  it("may be empty", async () => {
    expect((await fetch(file("empty", "a"), { method: "PUT" })).status).toBe(201);
    expect(await (await fetch(file("empty", "a"))).text()).toBe("");
  });

  it("reaches the agent as it comes", () =>
    withContainer("sandbox-streamed", async (sandbox, container) => {
      const seen: string[] = [];
      const first = Promise.withResolvers<void>();
      container.reply = async (path, { body }) => {
        if (path === "/health") return container.healthy();
        for await (const chunk of body as ReadableStream<Uint8Array>) {
          seen.push(new TextDecoder().decode(chunk));
          first.resolve();
        }
        return new Response(seen.join("|"), { status: 201 });
      };
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const writer = writable.getWriter();
      const reply = sandbox.fetch(request(readable));
      await writer.write(new TextEncoder().encode("one"));
      await first.promise;
      expect(seen).toEqual(["one"]); // before the second is there
      await writer.write(new TextEncoder().encode("two"));
      await writer.close();
      expect(await (await reply).text()).toBe("one|two");
    }));
});

describe("a body", () => {
  const put = (body: BodyInit, headers = {}) => new Request("http://localhost/a", { method: "PUT", body, headers });
  const marked = (request: Request) => {
    const headers = new Headers();
    const body = withEndMark(request, headers);
    return { text: new Response(body).text(), mark: headers.get("roombox-end") };
  };

  it("without a declared length has a mark at its end, each its own", async () => {
    const one = marked(put("bytes"));
    const other = marked(put(""));
    expect(await one.text).toBe(`bytes${one.mark}`);
    expect(await other.text).toBe(other.mark);
    expect(one.mark).not.toBe(other.mark);
  });

  it("of a declared length, and none at all, are as they come", async () => {
    const declared = put("bytes", { "content-length": "5" });
    expect(withEndMark(declared, new Headers())).toBe(declared.body);
    expect(withEndMark(new Request("http://localhost/a"), new Headers())).toBeNull();
  });

  it("whose sender gives up has no mark, even where it seems to end", async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const broken = marked(put(readable));
    const writer = writable.getWriter();
    writer.write(new TextEncoder().encode("by")).catch(() => undefined);
    writer.abort(new Error("gone")).catch(() => undefined);
    await expect(broken.text).rejects.toThrow();
    const client = new AbortController();
    const left = marked(new Request(put("by"), { signal: client.signal }));
    client.abort();
    await expect(left.text).rejects.toThrow();
  });
});

describe("a call about files", () => {
  const outcome = async (reply: Promise<Response>) => outcomeName(await reply);

  it("is told why there is no sandbox, in words of its own", async () => {
    await withContainer("sandbox-slow", async (_, container) => {
      container.reply = notListening;
    });
    const reply = await fetch(file("slow", "a"));
    expect([reply.status, reply.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await reply.json()).toMatchObject({ error: expect.stringContaining("nothing was read or changed") });
  });

  it("is sent again where nobody listened, with its body whole", () =>
    withContainer("sandbox-again", async (sandbox, container) => {
      expect((await sandbox.fetch(request("first"))).status).toBe(201);
      let deaf = 2;
      const real = container.reply;
      container.reply = (path, init) => (deaf-- > 0 ? notListening() : real(path, init));
      expect((await sandbox.fetch(request("second"))).status).toBe(201);
      deaf = 1;
      expect(await (await sandbox.fetch(request())).text()).toBe("second");
    }));

  it("gives up on a sandbox that dies at each start", () =>
    withContainer("sandbox-dies", async (sandbox, container) => {
      container.reply = (path) => (path === "/health" ? container.healthy() : notListening());
      expect(await outcome(sandbox.fetch(request()))).toBe("start_failed");
    }));

  it("is lost with its sandbox, or gone with its room", () =>
    withContainer("sandbox-ends", async (sandbox, container) => {
      const hold = () => {
        const asked = Promise.withResolvers<void>();
        container.reply = (path) => {
          if (path === "/health") return container.healthy();
          asked.resolve();
          return new Promise(() => undefined);
        };
        return asked.promise;
      };
      let asked = hold();
      const lost = outcome(sandbox.fetch(request()));
      await asked;
      container.end();
      expect(await lost).toBe("lost");
      asked = hold();
      const gone = outcome(sandbox.fetch(request()));
      await asked;
      await sandbox.destroy();
      expect(await gone).toBe("gone");
    }));
});
