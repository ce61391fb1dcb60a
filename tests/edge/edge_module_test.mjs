// The module as a host loads it, of either toolchain: EDGE_MODULE names its file.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

const bytes = readFileSync(process.env.EDGE_MODULE);
const module = new WebAssembly.Module(bytes);
const HEAD = "POST http://x/api/rooms/room-123/sandbox/exec\nroombox-caller:key\ncontent-type:application/json\n";
const [ANSWER, READ_BODY, FORWARD] = [0, 1, 2];

function instantiate() {
  const { exports } = new WebAssembly.Instance(module, {});
  exports._initialize?.();
  return exports;
}

function decide(core, head, body) {
  const input = core.edge_input(head.length + (body?.length ?? 0));
  assert.notEqual(input, 0);
  new Uint8Array(core.memory.buffer).set(Buffer.from(head), input);
  if (body) new Uint8Array(core.memory.buffer).set(body, input + head.length);
  const at = core.edge_decide(head.length, body?.length ?? -1);
  const [action, number, headAt, headSize, bodyAt, bodySize] = new Uint32Array(core.memory.buffer, at, 6);
  const text = (from, size) => Buffer.from(core.memory.buffer, from, size).toString();
  return { action, number, head: text(headAt, headSize), body: text(bodyAt, bodySize) };
}

test("imports nothing, and is small", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
  assert.ok(gzipSync(bytes, { level: 9 }).length < 88 * 1024);
});

/** A field of an outcome: wasm/protocol/fields.h. */
const field = (name, value) => Buffer.concat([Buffer.from(`${name} ${value.length}\n`), Buffer.from(value)]);

function outcome(core, head, bytes) {
  const input = core.edge_input(head.length + bytes.length);
  assert.notEqual(input, 0);
  new Uint8Array(core.memory.buffer).set(Buffer.from(head), input);
  new Uint8Array(core.memory.buffer).set(bytes, input + head.length);
  const at = core.edge_outcome(head.length, bytes.length);
  const [action, status, , , , bodySize] = new Uint32Array(core.memory.buffer, at, 6);
  assert.equal(action, ANSWER);
  return { status, bodySize };
}

test("decides", () => {
  const core = instantiate();
  assert.deepEqual(decide(core, HEAD), { action: READ_BODY, number: 4 << 20, head: "", body: "" });
  const forward = decide(core, HEAD, Buffer.from('{"cmd":"true"}'));
  assert.equal(forward.action, FORWARD);
  assert.match(forward.head, /^sandbox-room-123\nPOST \/executions\n/);
});

test("refuses input larger than any request", () => {
  const core = instantiate();
  assert.equal(core.edge_input(64 << 20), 0);
  assert.equal(decide(core, HEAD).action, READ_BODY);
});

test("has memory for the largest bodies, one after another", () => {
  const core = instantiate();
  const largest = 4 << 20;
  for (const body of [
    Buffer.from(`{"cmd":"${"x".repeat(largest - 10)}"}`),
    Buffer.from(`{"cmd":"${"\\u00e9".repeat((largest - 10) / 6)}"}`),
    Buffer.alloc(largest, "["),
    Buffer.from(`{"cmd":"${"x".repeat(largest - 8)}`), // not closed: the parser copies the token into its error, too
    Buffer.alloc(largest, "7"),
    Buffer.from(`{"env":{${Array.from({ length: 200_000 }, (_, i) => `"A${i}":""`)}}}`),
  ]) {
    for (let i = 0; i < 10; i++) {
      const { action, number } = decide(core, HEAD, body);
      assert.deepEqual([action, number], [ANSWER, 400]);
    }
  }
  assert.equal(decide(core, HEAD, Buffer.from('{"cmd":"true"}')).action, FORWARD);
  assert.ok(core.memory.buffer.byteLength <= 56 << 20, `${core.memory.buffer.byteLength} bytes`); // of 64 MiB at most
});

test("has memory for the largest records, whatever their bytes", () => {
  let core = instantiate();
  const head = "GET http://x/api/rooms/r/sandbox/executions/exec_1/events\n";
  for (const byte of ["x", "\n", "\x01", "\xff"]) {
    const stored = Buffer.alloc(1 << 20, byte, "latin1");
    for (const encoding of ["utf8", "base64"]) {
      const record = [
        field("id", "exec_1"),
        field("command", Buffer.alloc(1 << 20, byte, "latin1")),
        field("encoding", encoding),
        field("status", "completed"),
        field("stdout", stored),
        field("stderr", stored),
      ];
      for (const name of ["events\n", "record\n", "result\n"]) {
        const { status, bodySize } = outcome(core, head, Buffer.concat([Buffer.from(name), ...record]));
        assert.equal(status, 200);
        assert.ok(bodySize > stored.length * 2);
        if (core.memory.buffer.byteLength > 24 << 20) core = instantiate(); // as the Worker does
      }
    }
  }
});
