import { describe, expect, it } from "vitest";
import { EdgeCore, instantiate } from "../../worker/edge";
import { writeFields } from "../../worker/fields";
import { bodyOf, edgeCases } from "../cases";

const encode = (text: string) => new TextEncoder().encode(text);
const OPEN = "roombox-caller:open\n";
const EXEC = `POST http://localhost/api/rooms/room-123/sandbox/exec\n${OPEN}content-type:application/json\n`;

describe("the core in workerd", () => {
  const carriedOut = edgeCases.filter(({ expect }) => expect.action !== "answer");

  it.each(carriedOut.map((each) => [each.name, each] as const))("decides: %s", (_, each) => {
    const { method, path, headers = {} } = each.request;
    const lines = Object.entries(headers).map(([name, value]) => `${name}:${value}\n`);
    const decision = new EdgeCore().decide(`${method} http://localhost${path}\n${OPEN}${lines.join("")}`, bodyOf(each));
    expect(decision).toMatchObject({ action: each.expect.action, sandbox: each.expect.sandbox });
  });

  it("asks for a body before it decides on it", () => {
    expect(new EdgeCore().decide(EXEC)).toMatchObject({ action: "readBody", limit: 4 << 20 });
  });

  it("names the agent's call and who it is for", () => {
    expect(new EdgeCore().decide(EXEC, encode('{"cmd":"true"}'))).toEqual({
      action: "forward",
      sandbox: "sandbox-room-123",
      method: "POST",
      path: "/executions",
      headers: [
        ["Roombox-Sandbox", "sandbox-room-123"],
        ["Roombox-Dialect", "rooms"],
        ["Content-Type", "application/json"],
      ],
      isTransparent: false,
      replyHeaders: [],
      seed: writeFields(["mode", "plain"], ["command", "true"], ["encoding", "utf8"]),
      note: { route: "/api/rooms/{roomID}/sandbox/exec", room: "room-123", execution: undefined, code: undefined },
    });
  });

  it("names the question for an object", () => {
    expect(
      new EdgeCore().decide(`GET http://localhost/api/rooms/r/sandbox/executions?limit=5&status=running\n${OPEN}`),
    ).toEqual({
      action: "ask",
      operation: "records",
      sandbox: "sandbox-r",
      arguments: new Map([
        ["limit", "5"],
        ["status", "running"],
      ]),
      fields: new Uint8Array(),
      note: { route: "/api/rooms/{roomID}/sandbox/executions", room: "r", execution: undefined, code: undefined },
    });
  });

  it("answers without a body where there is none", async () => {
    const head =
      "GET http://localhost/api/rooms/r/sandbox/executions/exec_00000000000000000000/events\nlast-event-id:2\n";
    const fields = writeFields(["id", `exec_${"0".repeat(20)}`], ["status", "completed"], ["total", 0]);
    const { response: answer } = new EdgeCore().outcome(head, { name: "events", fields });
    expect([answer.status, answer.body]).toEqual([204, null]);
  });

  it("serves the next request with a fresh instance after a trap", async () => {
    let instances = 0;
    const core = new EdgeCore(() => {
      const exports = instantiate();
      if (++instances > 1) return exports;
      const spoilt = (headLength: number, bodyLength: number) => {
        new Uint8Array(exports.memory.buffer).fill(0xff); // every pointer that it keeps now points nowhere
        return exports.edge_decide(headLength, bodyLength);
      };
      return { ...exports, edge_decide: spoilt };
    });
    expect(() => core.decide(EXEC, encode("{}"))).toThrow(WebAssembly.RuntimeError);
    expect(await core.outcome(EXEC, { name: "crashed" }).response.json()).toMatchObject({ code: "internal" });
    expect(core.decide(EXEC)).toMatchObject({ action: "readBody" });
    expect(instances).toBe(2);
  });

  it("does not keep the memory that large bodies took", () => {
    const memories: WebAssembly.Memory[] = [];
    const core = new EdgeCore(() => {
      const exports = instantiate();
      memories.push(exports.memory);
      return exports;
    });
    const large = encode(JSON.stringify({ cmd: "x".repeat(4_000_000), env: { A: "y".repeat(100_000) } }));
    for (let i = 0; i < 20; i++) {
      core.decide(EXEC, large);
      core.decide(EXEC, encode("{}"));
      expect(memories.at(-1)?.buffer.byteLength).toBeLessThanOrEqual(24 << 20);
    }
  });
});
