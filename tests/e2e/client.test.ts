import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ExecEvent, type Room, roombox } from "../../sdk/index";
import { newRoom, origin } from "./client";
import { cuttable } from "./proxy";
import { NAME, WranglerDev } from "./wrangler";

// The TypeScript client against the real server.

let room: Room;
beforeAll(async () => {
  room = roombox({ url: origin() }).room(newRoom());
  await room.exec("true");
});
afterAll(async () => {
  await room.delete();
});

const numbers = (upto: number) => Array.from({ length: upto }, (_, i) => `${i + 1}\n`).join("");
/** Lines that come for a while. */
const SLOWLY = "for i in {0..29}; do seq $((i * 100 + 1)) $((i * 100 + 100)); sleep 0.03; done";

/** The room, over a line that can be cut. */
async function overProxy() {
  const { url, cut } = await cuttable(origin());
  return { room: roombox({ url }).room(room.id), cut };
}

it("does what its README says", async () => {
  const blocks = [...readFileSync("sdk/README.md", "utf8").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code]) => code);
  const name = newRoom();
  const code = blocks.join("\n").replaceAll("http://localhost:8787", origin()).replaceAll('"demo"', `"${name}"`);
  const folder = mkdtempSync("sdk/dist/readme-"); // of the package, which is found by its own name there
  try {
    writeFileSync(join(folder, "all.ts"), code);
    const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", join(folder, "all.ts")]);
    const lines = ["hello", " 3", "6", "1", "", "2", "", "0", "stdout got this", "", "4", "/tmp", "1", "", "true"];
    const page = `${origin()}/api/rooms/${name}/sandbox/ports/3000/ <h1>hello</h1>`;
    const rest = ["<h1>hello</h1>", "index.html 14", page, "running", "[ 'Ada' ]", "400 invalid_request", ""];
    expect(stdout.split("\n")).toEqual([...lines, ...rest]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it("gives text, and bytes as they were", async () => {
  expect(await room.exec("printf 'é\\377'; echo err >&2; exit 3")).toMatchObject({
    status: "completed",
    exitCode: 3,
    stdout: "é\ufffd",
    stderr: "err\n",
  });
  const { stdout } = await room.exec("printf 'é\\377\\0'", { output: "bytes" });
  expect([...stdout]).toEqual([0xc3, 0xa9, 255, 0]);
  await expect(room.exec("true", { cwd: "/nowhere" })).rejects.toMatchObject({
    code: "invalid_request",
    details: { cwd: [expect.any(String)] },
    requestId: expect.stringMatching(/^[0-9a-f]{32}$/),
  });
});

it("ends at once with its signal, and the command with it", async () => {
  const execution = await room.start("sleep 995");
  const abort = AbortSignal.timeout(300);
  await expect(execution.result({ signal: abort })).rejects.toMatchObject({ name: "TimeoutError" });
  expect((await execution.record()).status).toBe("running");
  expect(await execution.kill()).toMatchObject({ status: "cancelled", exitCode: 137 });
  await expect(execution.kill()).rejects.toMatchObject({ status: 409, code: "conflict" });
  const streamed = async () => {
    for await (const { type } of room.stream("sleep 995", { signal: AbortSignal.timeout(300) }))
      expect(type).toBe("start");
  };
  await expect(streamed()).rejects.toMatchObject({ name: "TimeoutError" });
  expect((await room.exec("pgrep -c -x -f 'sleep 995'")).stdout).toBe("0\n");
});

it("streams over lines that are cut, each byte once", async () => {
  const { room: cutRoom, cut } = await overProxy();
  let text = "";
  let cuts = 0;
  let last: ExecEvent | undefined;
  for await (const event of cutRoom.stream(SLOWLY)) {
    last = event;
    if (event.type !== "stdout") continue;
    text += event.data;
    if (text.length > (cuts + 1) * 2500) {
      cuts++;
      cut();
    }
  }
  expect(cuts).toBeGreaterThanOrEqual(3);
  expect(text).toBe(numbers(3000));
  expect(last).toMatchObject({ type: "exit", result: { exitCode: 0 } });
});

it("kills a stream that is left, and one of one line too", async () => {
  for (const resume of [true, false]) {
    let id = "";
    for await (const event of room.stream("echo begun; sleep 996", { resume })) {
      if (event.type === "start") id = event.id;
      if (event.type === "stdout") break;
    }
    await expect.poll(async () => (await room.execution(id).record()).status).toBe("cancelled");
  }
  expect((await room.exec("pgrep -c -x -f 'sleep 996'")).stdout).toBe("0\n");
});

it("runs a command once, though its line is cut", async () => {
  const { room: cutRoom, cut } = await overProxy();
  const marked = room.files;
  const started = cutRoom.start("echo once >> /workspace/once; cat");
  cut();
  const execution = await started;
  cut();
  await execution.stdin("", { eof: true }).catch(() => {}); // not repeated, as it might come twice
  await room
    .execution(execution.id)
    .kill()
    .catch(() => {});
  expect(await marked.text("/workspace/once")).toBe("once\n");
  const running = cutRoom.exec("echo once >> /workspace/twice; sleep 0.5");
  await expect.poll(() => marked.text("/workspace/twice").catch(() => "")).toBe("once\n");
  cut();
  await running;
  expect(await marked.text("/workspace/twice")).toBe("once\n");
});

it("stays attached over lines that are cut, and writes", async () => {
  const { room: cutRoom, cut } = await overProxy();
  const execution = await cutRoom.start(`read -r line; ${SLOWLY}; echo $line; exit 7`);
  const attachment = await execution.attach();
  await attachment.write("the end\n");
  let text = "";
  let cuts = 0;
  for await (const { data } of attachment) {
    text += Buffer.from(data);
    if (text.length > (cuts + 1) * 2500) {
      cuts++;
      cut();
    }
  }
  expect(cuts).toBeGreaterThanOrEqual(3);
  expect(text).toBe(`${numbers(3000)}the end\n`);
  expect(await attachment.exit).toBe(7);
});

it("passes 20 MB of input and output as they are", async () => {
  const input = randomBytes(20 << 20);
  const execution = await room.start("cat");
  const attachment = await execution.attach();
  const written = attachment.write(input).then(() => attachment.end());
  const sum = createHash("sha256");
  for await (const { data } of attachment) sum.update(data);
  await written;
  expect(sum.digest("hex")).toBe(createHash("sha256").update(input).digest("hex"));
  expect(await attachment.exit).toBe(0);
});

it("says what is wrong with an attachment", async () => {
  await expect(room.execution("exec_none").attach()).rejects.toMatchObject({ status: 404, code: "not_found" });
  const refused: unknown[] = [];
  const execution = await room.start("read -r line");
  const attachment = await execution.attach({ onRefused: (error) => refused.push(error) });
  await attachment.resize(10, 10);
  await attachment.write("\n");
  expect(await attachment.exit).toBe(0);
  expect(refused).toMatchObject([{ code: "conflict" }]);
});

it("comes back to a terminal, and resizes it", async () => {
  const terminal = await room.terminal({ cmd: "exec bash --noprofile --norc", env: { PS1: "$ " } });
  terminal.close();
  const execution = room.execution(terminal.id);
  await execution.resize(90, 20);
  const again = await execution.attach();
  await again.write("stty size; exit 5\n");
  let screen = "";
  for await (const { data } of again) screen += Buffer.from(data);
  expect(screen).toContain("20 90");
  expect(await again.exit).toBe(5);
});

it("reads and writes files, with any name", async () => {
  const bytes = randomBytes(100_000);
  const path = "/workspace/a b'%25é\n#?";
  const { files } = room;
  expect(await files.write(path, new Uint8Array(bytes))).toEqual({
    path,
    size: 100_000,
    etag: expect.any(String),
  });
  expect(Buffer.from(await files.read(path)).equals(bytes)).toBe(true);
  expect(await files.stat(path)).toMatchObject({ type: "file", size: 100_000, etag: expect.any(String) });
  expect(await files.stat("/workspace")).toEqual({ type: "directory" });
  await files.write(Buffer.from("/workspace/\xff", "latin1"), new Blob(["streamed"]).stream(), { size: 8 });
  const names = (await files.list("/workspace")).map(({ name, nameBase64 }) => nameBase64 ?? name);
  expect(names).toContain(Buffer.of(255).toString("base64"));
  await files.remove(path);
  await expect(files.read(path)).rejects.toMatchObject({ code: "not_found" });
  await expect(files.stat(path)).rejects.toMatchObject({ code: "not_found" });
  await expect(files.list("/etc/passwd")).rejects.toThrow("expected a directory");
});

it("lists what ran and which rooms there are", async () => {
  const own = roombox({ url: origin() }).room(newRoom());
  for (let i = 0; i < 5; i++) await own.exec(`exit ${i}`);
  const codes: (number | null)[] = [];
  for await (const { exitCode } of own.executions({ pageSize: 2 })) codes.push(exitCode);
  expect(codes).toEqual([4, 3, 2, 1, 0]);
  const rooms: string[] = [];
  for await (const { roomID } of roombox({ url: origin() }).rooms({ pageSize: 1 })) if (rooms.push(roomID) > 1) break;
  expect(rooms).toContain(own.id);
  expect(await own.delete()).toMatchObject({ deleted: true });
  expect(await own.info()).toMatchObject({ status: "absent" });
});

it("brings keys, room tokens and tickets", async () => {
  const state = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
  const key = "a key/with+what=no protocol may have";
  const vars = [`API_KEY:${key.replaceAll(" ", "-")}`, "TOKEN_KEY:a secret of the test for tokens, long enough"];
  const dev = await WranglerDev.startWith(
    `${NAME}-client`,
    "--persist-to",
    state,
    ...vars.flatMap((v) => ["--var", v]),
  );
  try {
    const server = roombox({ url: dev.origin, token: key.replaceAll(" ", "-") }).room("r");
    const { token } = await server.token({ scope: ["exec", "attach"], expiresIn: 60 });
    const page = roombox({ url: dev.origin, token }).room("r");
    for (const own of [server, page]) {
      const attachment = await (await own.start("read -r line; exit 6")).attach();
      await attachment.write("\n");
      expect(await attachment.exit).toBe(6);
    }
    await expect(page.files.list("/")).rejects.toMatchObject({ status: 403, code: "forbidden" });
    const nobody = roombox({ url: dev.origin, token: "nobody" }).room("r");
    await expect(nobody.exec("true")).rejects.toMatchObject({ status: 401, code: "unauthorized" });
    await expect(nobody.execution("exec_x").attach()).rejects.toMatchObject({ status: 401 });
    expect(await page.ticket()).toMatchObject({ ticket: expect.any(String), expiresAt: expect.any(String) });
    await server.delete();
  } finally {
    await dev.stop();
    rmSync(state, { recursive: true });
  }
}, 120_000); // it starts a server
