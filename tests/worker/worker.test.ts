import { listDurableObjectIds } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import { bodyOf, edgeCases } from "../cases";

const worker = exports.default;
const EXEC = "http://localhost/api/rooms/room-123/sandbox/exec";

describe("the worker answers as the core decides", () => {
  const answered = edgeCases.filter(({ expect }) => expect.action === "answer");

  it.each(answered.map((each) => [each.name, each] as const))("%s", async (_, each) => {
    const { method, path, headers } = each.request;
    const response = await worker.fetch(`http://localhost${path}`, {
      method,
      headers: headers ?? {},
      body: bodyOf(each) ?? null,
    });
    const text = await response.text();
    expect(response.status).toBe(each.expect.status);
    for (const [name, value] of Object.entries(each.expect.headers ?? {})) {
      expect(response.headers.get(name)).toBe(value);
    }
    if (each.expect.json !== undefined) expect(JSON.parse(text)).toEqual(each.expect.json);
    if (each.expect.text !== undefined) expect(text).toBe(each.expect.text);
  });

  it("and touched no object for it", async () => {
    expect(await listDurableObjectIds(env.SANDBOX)).toEqual([]);
  });
});

describe("a body without a declared length", () => {
  const stream = (chunk: Uint8Array, times: number) =>
    new ReadableStream<Uint8Array>({
      pull(controller) {
        if (times-- > 0) controller.enqueue(chunk);
        else controller.close();
      },
    });
  const post = (body: ReadableStream<Uint8Array>) =>
    worker.fetch(EXEC, { method: "POST", headers: { "content-type": "application/json" }, body });

  it("is refused once it is more than the limit, however long it goes on", async () => {
    const response = await post(stream(new Uint8Array(65536), Number.POSITIVE_INFINITY));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ code: "payload_too_large" });
  });

  it("is put together from its chunks", async () => {
    const response = await post(stream(new TextEncoder().encode("["), 5));
    expect(await response.json()).toMatchObject({ details: { body: [expect.stringContaining("position 5")] } });
  });
});
