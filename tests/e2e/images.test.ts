import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { containerOf, docker, type ExecResult, exec, newRoom, remove } from "./client";

// The agent is one static binary: here in an image that has no bash, no user of ours and no /workspace.

const name = `roombox-e2e-no-bash-${process.pid}`;
const context = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
let url = "";

beforeAll(async () => {
  const room = newRoom();
  await exec(room, "true");
  docker("cp", `${await containerOf(room)}:/usr/local/bin/roombox-agent`, context);
  await remove(room);
  const lines = [
    "FROM debian:trixie-slim",
    "RUN rm /bin/bash",
    "COPY roombox-agent /",
    'ENTRYPOINT ["/roombox-agent"]',
  ];
  writeFileSync(join(context, "Dockerfile"), lines.join("\n"));
  docker("build", "--quiet", "--tag", name, context);
  docker(
    "run",
    "--detach",
    "--name",
    name,
    "--memory",
    "64m",
    "--memory-swap",
    "64m",
    "--publish",
    "127.0.0.1::8080",
    name,
  );
  url = `http://${docker("port", name, "8080")}`;
  while (
    !(await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  ); // the container has started, its agent may not have
});
afterAll(() => {
  docker("rm", "--force", name);
  docker("rmi", name);
  rmSync(context, { recursive: true });
});

async function run(cmd: string): Promise<ExecResult> {
  const response = await fetch(`${url}/executions`, { method: "POST", body: JSON.stringify({ cmd }) });
  return ((await response.json()) as { result: ExecResult }).result;
}

it("runs commands by /bin/sh, unprivileged, in a /workspace that it made", async () => {
  expect((await run("echo $0; id -u; pwd; touch file && ls")).stdout).toBe("sh\n1000\n/workspace\nfile\n");
  expect((await run(`echo ${"x".repeat(200_000)} | wc -c`)).stdout).toBe("200001\n");
});

it("tells a command that ran out of memory from one that was killed, and lives on", async () => {
  expect(await run("tail /dev/zero")).toMatchObject({ exitCode: 137, oom: true, status: "completed" });
  expect(await run("kill -9 $$")).toMatchObject({ exitCode: 137, oom: false, signal: "SIGKILL" });
  expect(await run("echo ok")).toMatchObject({ stdout: "ok\n", oom: false });
});

it("ends at once when the container is stopped", () => {
  const began = performance.now();
  docker("stop", name); // SIGTERM, then ten seconds of patience
  expect(performance.now() - began).toBeLessThan(3000);
  expect(docker("inspect", "--format", "{{.State.ExitCode}}", name)).toBe("0");
});
