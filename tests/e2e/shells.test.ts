import { afterAll, beforeAll, expect, it } from "vitest";
import { callJson, detach, ended, exec, executionPath, newRoom, remove } from "./client";

// Persistent shells through the whole chain.

const room = newRoom();
beforeAll(async () => {
  await exec(room, "true");
});
afterAll(async () => {
  await remove(room);
});

const run = (cmd: string, options: object = {}) => exec(room, cmd, { shell: "main", ...options });

it("keeps directory, variables, functions and options from call to call, and streams apart", async () => {
  expect(await run("cd /tmp; export A=1; f() { echo f $A; }; set -f")).toMatchObject({ exitCode: 0, stdout: "" });
  expect(await run("pwd; f; echo *; echo err >&2; false")).toMatchObject({
    status: "completed",
    exitCode: 1,
    stdout: "/tmp\nf 1\n*\n",
    stderr: "err\n",
    shell: "main",
    shellExited: false,
  });
  expect((await exec(room, "pwd", { shell: "other" })).stdout).toBe("/workspace\n");
});

it("runs calls that come at once one after another, each with its own output", async () => {
  const calls = Array.from({ length: 30 }, (_, i) => run(`echo $((++n)); sleep 0.01; echo ${i}`));
  const told = (await Promise.all(calls)).map(({ stdout }) => stdout.split("\n"));
  expect(told.map(([, i]) => i)).toEqual(told.map((_, i) => `${i}`));
  expect(told.map(([n]) => Number(n)).sort((a, b) => a - b)).toEqual(told.map((_, i) => i + 1));
});

it("is not confused by what commands leave behind", async () => {
  expect(await run("echo 'open")).toMatchObject({ shellExited: false });
  expect((await run("cat <<END\nhere\nEND")).stdout).toBe("here\n");
  expect((await run("sleep 30 >/dev/null 2>&1 & echo now")).stdout).toBe("now\n");
  expect((await run("exec >/dev/null; echo lost")).stdout).toBe("");
  expect((await run("echo there; printf 'a\\0b'")).stdout).toBe("there\na\0b");
});

it("ends by exit and by a timeout, and the next call gets a fresh one", async () => {
  expect(await run("X=old; exit 42")).toMatchObject({ exitCode: 42, shellExited: true });
  expect((await run("[ -v X ] || echo fresh; X=old")).stdout).toBe("fresh\n");
  expect(await run("sleep 997 & sleep 997", { timeout_ms: 200 })).toMatchObject({
    status: "timeout",
    exitCode: 124,
    shellExited: true,
  });
  expect((await run("[ -v X ] || echo fresh; pgrep -c -x -f 'sleep 997'")).stdout).toBe("fresh\n0\n");
});

it("has records, kills and details as every execution", async () => {
  const id = await detach(room, "echo begun; sleep 60", { shell: "main" });
  await callJson(200, "POST", `${executionPath(room, id)}/kill`, {});
  expect(await ended(room, id)).toMatchObject({ status: "cancelled", exitCode: 137, shellExited: true });
  const body = { cmd: "true", shell: "main", cwd: "/tmp", env: {} };
  const refused = await callJson(400, "POST", `/api/rooms/${room}/sandbox/exec`, body);
  expect(Object.keys(refused.details)).toEqual(["cwd", "env"]);
});
