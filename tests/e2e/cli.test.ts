import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { callJson, exec, executionPath, newRoom, origin, remove } from "./client";

// The command line against the real server: as it is built, as a process.

const MAIN = "sdk/dist/cli/main.js";
const room = newRoom();
const here = mkdtempSync(join(tmpdir(), "roombox-cli-"));
beforeAll(async () => {
  await exec(room, "true");
});
afterAll(async () => {
  await remove(room);
  rmSync(here, { recursive: true });
});

/** A process whose output is kept, stdin open. */
class Run {
  readonly child: ChildProcess;
  readonly #out: Buffer[] = [];
  readonly #err: Buffer[] = [];
  readonly #closed: Promise<unknown>;

  constructor(command: string, args: string[]) {
    this.child = spawn(command, args, { env: { ...process.env, ROOMBOX_URL: origin() } });
    this.child.stdout?.on("data", (chunk) => this.#out.push(chunk));
    this.child.stderr?.on("data", (chunk) => this.#err.push(chunk));
    this.child.stdin?.on("error", () => {}); // who ends early reads no more
    this.#closed = once(this.child, "close");
  }

  get out(): Buffer {
    return Buffer.concat(this.#out);
  }

  /** Until it has printed that. */
  async until(text: string): Promise<void> {
    while (!this.out.includes(text)) {
      const ended = await Promise.race([
        once(this.child.stdout as NonNullable<ChildProcess["stdout"]>, "data"),
        this.#closed,
      ]);
      if (this.child.exitCode !== null && !this.out.includes(text))
        throw new Error(`ended (${ended}) after ${this.out}`);
    }
  }

  async end(): Promise<{ code: number | null; out: Buffer; err: string }> {
    await this.#closed;
    return { code: this.child.exitCode, out: this.out, err: `${Buffer.concat(this.#err)}` };
  }
}

const start = (...args: string[]) => new Run(process.execPath, ["--no-warnings", MAIN, ...args]);

/** Runs it to its end with that input. */
function cli(args: string[], input: string | Buffer = "") {
  const run = start(...args);
  run.child.stdin?.end(input);
  return run.end();
}

async function ok(...args: string[]): Promise<string> {
  const { code, out, err } = await cli(args);
  expect([code, err]).toEqual([0, ""]);
  return `${out}`;
}

const isGone = async (pattern: string) => (await exec(room, `pgrep -c -x -f '${pattern}'`)).stdout === "0\n";
const script = (text: string) => new Run("bash", ["-c", text, process.execPath, MAIN, room]);

it("runs a command as if it ran here: words, code, streams", async () => {
  const words = [
    "exec",
    room,
    "--cwd",
    "/tmp",
    "-e",
    "A=it's",
    "--",
    "sh",
    "-c",
    'pwd; echo "$A" "$0"; echo err >&2; exit 7',
    "a b",
  ];
  expect(await cli(words)).toEqual({ code: 7, out: Buffer.from("/tmp\nit's a b\n"), err: "err\n" });
  expect((await cli(["exec", room, "kill -TERM $$"])).code).toBe(143);
  expect((await cli(["exec", room, "--timeout", "300ms", "sleep 60"])).code).toBe(124);
  expect((await cli(["exec", "-n", room, "read -r x; echo $?; exit 9"])).code).toBe(9);
});

it("passes stdin and stdout as they are, byte by byte", async () => {
  const bytes = randomBytes(3 << 20);
  const { code, out, err } = await cli(["exec", room, "cat"], bytes);
  expect([code, err, out.equals(bytes)]).toEqual([0, "", true]);
  writeFileSync(join(here, "bytes"), bytes);
  const piped = script(`cat ${here}/bytes | "$0" "$1" exec "$2" 'cat; echo end >&2' | cat > ${here}/piped`);
  expect((await piped.end()).err).toBe("end\n");
  expect(readFileSync(join(here, "piped")).equals(bytes)).toBe(true);
});

it("ends when the command does, though its own stdin is open", async () => {
  const open = start("exec", room, "echo done; exit 3");
  expect(await open.end()).toMatchObject({ code: 3, out: Buffer.from("done\n") });
  const fed = start("exec", room, "head -n 1");
  fed.child.stdin?.write("one\ntwo\n");
  expect(await fed.end()).toMatchObject({ code: 0, out: Buffer.from("one\n") });
});

it("talks with a command while it runs", async () => {
  const run = start("exec", room, "while read -r line; do echo got $line; done");
  for (const word of ["one", "two"]) {
    run.child.stdin?.write(`${word}\n`);
    await run.until(`got ${word}\n`);
  }
  run.child.stdin?.end();
  expect((await run.end()).code).toBe(0);
});

it("passes Ctrl-C on, the second time as SIGKILL", async () => {
  for (const mode of [[], ["-n"]]) {
    const gentle = start(
      "exec",
      ...mode,
      room,
      "trap 'kill $!; echo caught; exit 5' INT; sleep 987 & echo ready; wait",
    );
    await gentle.until("ready\n");
    gentle.child.kill("SIGINT");
    expect(await gentle.end()).toMatchObject({ code: 5, out: Buffer.from("ready\ncaught\n") });
  }
  const stubborn = start("exec", room, "trap 'echo no' INT; echo ready; while :; do sleep 987; done");
  await stubborn.until("ready\n");
  stubborn.child.kill("SIGINT");
  await stubborn.until("no\n");
  stubborn.child.kill("SIGINT");
  expect((await stubborn.end()).code).toBe(137);
  expect(await isGone("sleep 987")).toBe(true);
});

it("leaves nothing running where its reader has gone, and says nothing", async () => {
  for (const mode of ["", "-n"]) {
    const run = script(`"$0" "$1" exec ${mode} "$2" 'yes 988' | head -n 1; echo \${PIPESTATUS[0]}`);
    expect(await run.end()).toEqual({ code: 0, out: Buffer.from("988\n141\n"), err: "" });
    await expect.poll(() => isGone("yes 988")).toBe(true);
  }
});

it("waits for a slow reader with -n, which loses nothing", async () => {
  const run = script(`"$0" "$1" exec -n "$2" 'seq 1 1000000' | (sleep 2; sha256sum)`);
  const { stdout } = await exec(room, "seq 1 1000000 | sha256sum");
  expect(`${(await run.end()).out}`).toBe(stdout);
});

it("ends what it ran within its time where it is killed itself", async () => {
  const run = start("exec", room, "echo ready; sleep 986");
  await run.until("ready\n");
  run.child.kill("SIGTERM");
  expect((await run.end()).code).toBe(137);
  expect(await isGone("sleep 986")).toBe(true);
});

it("exits with 125 where it fails itself", async () => {
  expect(await cli(["exec", room, "--cwd", "/nowhere", "true"])).toMatchObject({
    code: 125,
    err: expect.stringContaining("/nowhere"),
  });
  expect(await cli(["exec", "-a", "true"])).toMatchObject({ code: 125 });
  const { code, err } = await cli(["exec", "a..-", "true", "--json"]);
  expect([code, JSON.parse(err)]).toMatchObject([125, { code: "invalid_request", requestId: expect.any(String) }]);
});

it("tells results in JSON, leaves commands running, lists, follows and ends them", async () => {
  const done = await cli(["exec", "--json", room, "echo out; exit 4"]);
  expect(done.code).toBe(4);
  expect(JSON.parse(`${done.out}`)).toMatchObject({ status: "completed", exitCode: 4, stdout: "out\n" });
  const id = (await ok("exec", "-d", room, "printf 'a\\0\\377'; echo err >&2; read -r x; echo b; sleep 985")).trim();
  expect(await ok("ls", room)).toMatch(new RegExp(`${id} +running`));
  expect(JSON.parse(await ok("ls", "--json", "--limit", "1", room))).toMatchObject([{ id, status: "running" }]);
  expect(JSON.parse(await ok("ls", "--json"))).toContainEqual(expect.objectContaining({ roomID: room }));
  await expect.poll(async () => (await cli(["logs", room])).err).toBe("err\n");
  expect((await cli(["logs", room, id])).out).toEqual(Buffer.from("a\0\xff", "latin1"));
  const follows = start("logs", "-f", room);
  await callJson(200, "POST", `${executionPath(room, id)}/stdin`, "x\n");
  await follows.until("b\n");
  expect(await ok("kill", room, id, "SIGTERM")).toBe("");
  expect((await follows.end()).code).toBe(0);
  expect(JSON.parse(await ok("logs", "--json", room, id))).toMatchObject({ status: "cancelled", signal: "SIGTERM" });
  expect(await cli(["kill", room, id])).toMatchObject({ code: 125, err: expect.stringContaining("already ended") });
});

it("copies files and directories both ways", async () => {
  const bytes = randomBytes(200_000);
  mkdirSync(join(here, "site", "sub"), { recursive: true });
  writeFileSync(join(here, "site", "a b"), bytes);
  writeFileSync(join(here, "site", "sub", "é"), "");
  const at = `${room}:/workspace`;
  expect(await ok("cp", join(here, "site", "a b"), at)).toBe("");
  expect(await ok("cp", "-r", join(here, "site"), `${at}/`)).toBe("");
  expect((await exec(room, "find . -type f | sort; stat -c %s 'a b'")).stdout).toBe(
    "./a b\n./site/a b\n./site/sub/é\n200000\n",
  );
  expect(await ok("cp", `${at}/a b`, join(here, "back"))).toBe("");
  expect(readFileSync(join(here, "back")).equals(bytes)).toBe(true);
  expect(JSON.parse(await ok("cp", "--json", "-r", `${at}/site`, join(here, "copy")))).toEqual({
    files: 2,
    bytes: 200_000,
    skipped: [],
  });
  expect(readFileSync(join(here, "copy", "a b")).equals(bytes)).toBe(true);
  expect(readFileSync(join(here, "copy", "sub", "é"), "utf8")).toBe("");
  expect(await ok("ls", `${room}:/workspace/site`)).toMatch(/0644 +200000 .* a b\n.* sub\/\n/);
  expect(await cli(["cp", join(here, "site"), at])).toMatchObject({
    code: 125,
    err: expect.stringContaining("with -r"),
  });
  symlinkSync("/etc/passwd", join(here, "site", "link"));
  expect(await cli(["cp", "-r", join(here, "site"), at])).toMatchObject({
    code: 125,
    err: expect.stringContaining("left out"),
  });
  expect(await cli(["rm", `${at}/site`])).toMatchObject({ code: 125 });
  expect(await ok("rm", "-r", `${at}/site`)).toBe("");
});

it("copies stdin to a room, and a file of it to stdout", async () => {
  const other = newRoom();
  const bytes = randomBytes(200_000);
  expect(await cli(["cp", "-", `${other}:/workspace/piped`], bytes)).toMatchObject({ code: 0, err: "" });
  expect((await cli(["cp", `${other}:/workspace/piped`, "-"])).out.equals(bytes)).toBe(true);
  await remove(other);
});

it("is a terminal: its size, a detach, a way back, and this terminal as it was", async () => {
  const fifo = join(here, "resize");
  const roombox = `${process.execPath} --no-warnings ${MAIN}`;
  const inside = [
    `stty cols 100 rows 30; before=$(stty -g); mkfifo ${fifo}; t=$(tty)`,
    `(read -r _ < ${fifo}; stty cols 90 rows 20 < $t) &`,
    `${roombox} shell -e PS1='$ ' ${room} -- bash --noprofile --norc; echo "left $?"`,
    `${roombox} shell --id "$(${roombox} ls --json --limit 1 ${room} | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')" ${room}`,
    `echo "code $?"; [[ $(stty -g) == "$before" ]] && echo as it was`,
  ].join("\n");
  const run = new Run("script", ["-qec", `bash -c '${inside.replaceAll("'", "'\\''")}'`, "/dev/null"]);
  const type = (text: string) => run.child.stdin?.write(text);
  await run.until("$ ");
  type("stty size\r");
  await run.until("30 100");
  writeFileSync(fifo, "\n");
  type("until [[ $(stty size) == '20 90' ]]; do sleep 0.1; done; echo $((6 * 7)) resized\r");
  await run.until("42 resized");
  type("\u0003\u001d");
  await run.until("left 0");
  type("echo $((6 * 8)) back; exit 6\r");
  await run.until("48 back");
  await run.until("code 6");
  await run.until("as it was");
  expect(`${run.out}`).toMatch(/back: roombox shell \S+ --id exec_/);
  run.child.stdin?.end();
  await run.end();
});

it("deletes a room", async () => {
  const other = newRoom();
  await exec(other, "true");
  expect(await ok("rm", other)).toBe(`deleted ${other}\n`);
  expect(JSON.parse(await ok("rm", "--json", other))).toMatchObject({ deleted: false });
});
