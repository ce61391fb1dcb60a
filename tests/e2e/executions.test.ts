import { afterAll, beforeAll, expect, it } from "vitest";
import { exec, newRoom, post, remove } from "./client";

// The promises of an execution, through the whole chain.

const room = newRoom();
beforeAll(async () => {
  await exec(room, "true"); // its cold start is no part of the times below
});
afterAll(async () => {
  await remove(room);
});

const survivors = async (pattern: string) => (await exec(room, `pgrep -c -x -f '${pattern}'`)).stdout.trim();

it("ends when its output ends, not when a redirected background child does", async () => {
  const result = await exec(room, "sleep 30 >/dev/null 2>&1 & echo hi");
  expect(result).toMatchObject({ stdout: "hi\n", exitCode: 0 });
  expect(result.duration).toBeLessThan(1000);
});

it("is held by a background child with its output, until the timeout takes both", async () => {
  const result = await exec(room, "cd /tmp && nohup sleep 60 &", { timeout_ms: 2000 });
  expect(result).toMatchObject({ status: "timeout", exitCode: 124, success: false });
  expect(result.duration).toBeGreaterThanOrEqual(2000);
  expect(result.duration).toBeLessThan(2500);
  expect(await survivors("sleep 60")).toBe("0");
});

it("has nothing on its stdin", async () => {
  expect((await exec(room, "cat; read x; echo rc=$?")).stdout).toBe("rc=1\n");
});

it("answers any exit code with 200", async () => {
  expect(await exec(room, "exit 3")).toMatchObject({ status: "completed", exitCode: 3, success: false });
  expect(await exec(room, "kill -TERM $$")).toMatchObject({ exitCode: 143, signal: "SIGTERM" });
});

it("times out in time, and nothing survives", async () => {
  const began = performance.now();
  expect(await exec(room, "sleep 5", { timeout_ms: 300 })).toMatchObject({ status: "timeout", exitCode: 124 });
  expect(performance.now() - began).toBeLessThan(600);
  expect(await survivors("sleep 5")).toBe("0");
});

it("times out with its whole pipeline", async () => {
  const began = performance.now();
  const result = await exec(room, "sh -c 'sleep 5; echo x' | cat", { timeout_ms: 1000 });
  expect(result).toMatchObject({ status: "timeout", exitCode: 124, stdout: "" });
  expect(performance.now() - began).toBeLessThan(1300);
});

it("times out with what escaped its session", async () => {
  const command = "setsid sleep 301 & (setsid nohup sleep 301 >/dev/null 2>&1 &) ; sleep 300 & wait";
  expect(await exec(room, command, { timeout_ms: 50 })).toMatchObject({ exitCode: 124 });
  expect(await survivors("sleep 30[01]")).toBe("0");
});

it("takes milliseconds where there is nothing to do", async () => {
  const times: number[] = [];
  for (let i = 0; i < 20; i++) times.push((await exec(room, "true")).duration);
  times.sort((a, b) => a - b);
  expect(times[10]).toBeLessThan(50);
});

it("loses no byte of 900 KB on each stream", async () => {
  const result = await exec(room, "head -c 900000 /dev/zero | tr '\\0' a; head -c 900000 /dev/zero | tr '\\0' b >&2");
  expect(result.stdout).toBe("a".repeat(900_000));
  expect(result.stderr).toBe("b".repeat(900_000));
  expect(result.truncated).toBe(false);
});

it("runs 200 KB of command text", async () => {
  const text = "é".repeat(100_000);
  expect((await exec(room, `echo '${text}'; echo $#`)).stdout).toBe(`${text}\n0\n`);
});

it("answers valid JSON to bytes that are no text", async () => {
  const response = await post(room, { cmd: "head -c 1000 /dev/urandom; printf '\\0\\033'" });
  const { stdout } = JSON.parse(await response.text()).result;
  expect(stdout.endsWith("\0\u001b")).toBe(true);
});

it("keeps the last newline, and a character that came in two halves", async () => {
  expect((await exec(room, "printf '\\303'; sleep 0.1; printf '\\251\\n\\n'")).stdout).toBe("é\n\n");
});

it("names a field that it does not know", async () => {
  const response = await post(room, { cmd: "true", timeoutMs: 5 });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({
    details: { timeoutMs: ['Unrecognized key: "timeoutMs". Did you mean "timeout_ms"?'] },
  });
});

it("names a directory that is not there", async () => {
  const response = await post(room, { cmd: "true", cwd: "/nowhere" });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ details: { cwd: [expect.stringContaining("/nowhere")] } });
});

it("passes directory and environment unchanged", async () => {
  const value = "' \" $HOME `id` \\ \n é";
  const result = await exec(room, 'pwd; printf %s "$VALUE"', { cwd: "/usr/lib", env: { VALUE: value } });
  expect(result.stdout).toBe(`/usr/lib\n${value}`);
});

it("gives 50 at once each its own directory", async () => {
  const results = await Promise.all(
    Array.from({ length: 50 }, (_, i) => exec(room, `mkdir -p /tmp/${i} && cd /tmp/${i} && pwd`)),
  );
  expect(results.map(({ stdout }) => stdout)).toEqual(results.map((_, i) => `/tmp/${i}\n`));
});

it("runs as an unprivileged user in /workspace with the tools of the image", async () => {
  expect((await exec(room, "id -un; pwd; echo $HOME")).stdout).toBe("sandbox\n/workspace\n/home/sandbox\n");
  const tools = "bash git curl python3 node ps awk sed";
  expect((await exec(room, `for t in ${tools}; do command -v $t >/dev/null || echo $t; done`)).stdout).toBe("");
  expect((await exec(room, "env | grep -i -e token -e roombox; kill -9 1; kill -0 1")).exitCode).not.toBe(0);
});

it("leaves no zombie", async () => {
  await exec(room, "for i in $(seq 200); do (sleep 0.01 >/dev/null 2>&1 &); done");
  const deadline = Date.now() + 5000;
  const zombies = async () => Number((await exec(room, "ps -eo stat= | grep -c ^Z")).stdout);
  while ((await zombies()) > 0) expect(Date.now()).toBeLessThan(deadline);
});
