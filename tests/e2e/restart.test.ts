import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { containerOf, docker, exec, newRoom, remove } from "./client";
import { NAME, WranglerDev } from "./wrangler";

// What a `wrangler dev` that ends leaves to the next one, and images of one's own. Each has its name, and so its containers.

const state = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
const name = `${NAME}-restart`;
let dev: WranglerDev | undefined;

/** The names of the sandboxes' containers of a worker, running or not. */
const containers = (worker: string) => allContainers(worker).filter((each) => !each.endsWith("-proxy"));
/** And of their ingress, which wrangler may leave behind. */
const allContainers = (worker: string) =>
  docker("ps", "--all", "--format", "{{.Names}}", "--filter", `name=-${worker}-Sandbox-`).split("\n").filter(Boolean);

async function start(worker: string, ...options: string[]): Promise<WranglerDev> {
  dev = await WranglerDev.start(worker, ...options);
  return dev;
}
async function json(status: number, method: string, path: string, body?: object) {
  const headers = { "content-type": "application/json" };
  const reply = await fetch(`${dev?.origin}${path}`, { method, headers, body: body ? JSON.stringify(body) : null });
  const text = await reply.text();
  if (reply.status !== status) throw new Error(`${reply.status} instead of ${status}: ${text}`);
  return JSON.parse(text);
}
const run = async (cmd: string, options = {}) =>
  (await json(200, "POST", "/api/rooms/r/sandbox/exec", { cmd, ...options })).result;

afterEach(async () => {
  await dev?.stop();
  dev = undefined;
});
afterAll(() => {
  rmSync(state, { recursive: true });
  for (const container of allContainers(name)) docker("rm", "--force", container);
});

describe("a wrangler dev that is started again", () => {
  const persist = ["--persist-to", state];

  it("after Ctrl-C: tells the truth of what ran, keeps what was saved, and works on", async () => {
    await start(name, ...persist);
    await run("echo saved > file");
    await json(200, "POST", "/api/rooms/r/sleep");
    const { result } = await json(202, "POST", "/api/rooms/r/sandbox/exec", { cmd: "sleep 994", detach: true });
    await dev?.stop();
    expect(containers(name)).toEqual([]);

    await start(name, ...persist);
    expect(await json(200, "GET", "/api/rooms/r")).toMatchObject({ status: "asleep" });
    const record = await json(200, "GET", `/api/rooms/r/sandbox/executions/${result.id}`);
    expect(record.result).toMatchObject({ status: "failed", exitCode: null });
    expect((await run("cat file")).stdout).toBe("saved\n");
    expect((await json(410, "POST", `/api/rooms/r/sandbox/executions/${result.id}/kill`)).code).toBe("gone");
    expect(await json(200, "DELETE", "/api/rooms/r")).toMatchObject({ deleted: true });
  }, 120_000);

  it("after a crash: takes up the sandboxes that still run, with what runs in them", async () => {
    await start(name, ...persist);
    await run("echo unsaved > file");
    const { result } = await json(202, "POST", "/api/rooms/r/sandbox/exec", {
      cmd: "while [ ! -e go ]; do sleep 0.1; done; echo went",
      detach: true,
    });
    await dev?.kill();
    expect(containers(name).length).toBeGreaterThan(0);

    await start(name, ...persist);
    expect(await json(200, "GET", "/api/rooms/r")).toMatchObject({ status: "running" });
    expect((await run("cat file; touch go")).stdout).toBe("unsaved\n");
    await (await fetch(`${dev?.origin}/api/rooms/r/sandbox/executions/${result.id}/events`)).text();
    const record = await json(200, "GET", `/api/rooms/r/sandbox/executions/${result.id}`);
    expect(record.result).toMatchObject({ status: "completed", stdout: "went\n" });
    expect(await json(200, "DELETE", "/api/rooms/r")).toMatchObject({ deleted: true });
    expect(containers(name)).toEqual([]);
  }, 120_000);

  it("after a crash in which the sandboxes went too: settles their records", async () => {
    await start(name, ...persist);
    const { result } = await json(202, "POST", "/api/rooms/r/sandbox/exec", { cmd: "sleep 993", detach: true });
    await dev?.kill();
    for (const container of allContainers(name)) docker("rm", "--force", container);

    await start(name, ...persist);
    const record = await json(200, "GET", `/api/rooms/r/sandbox/executions/${result.id}`);
    expect(record.result).toMatchObject({ status: "failed", exitCode: null });
    expect((await run("echo again")).stdout).toBe("again\n");
    await json(200, "DELETE", "/api/rooms/r");
  }, 120_000);
});

it("is cleaned up after by the next scripts/engine run, where it crashed", async () => {
  await start(name, "--persist-to", state);
  await run("true");
  await dev?.kill();
  expect(containers(name)).toHaveLength(1);
  execFileSync("scripts/engine", ["run", "true"], { env: { ...process.env, ROOMBOX_NAME: name } });
  expect(allContainers(name)).toEqual([]);
});

describe("an image of one's own", () => {
  const context = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
  const worker = `${NAME}-image`;

  beforeAll(async () => {
    const room = newRoom();
    await exec(room, "true");
    docker("cp", `${await containerOf(room)}:/usr/local/bin/roombox-agent`, context);
    await remove(room);
  });
  afterAll(() => rmSync(context, { recursive: true }));

  /** wrangler.toml with that image in place of ours. */
  function configWith(directory: string): string {
    const config = readFileSync("wrangler.toml", "utf8")
      .replace(/^main = .*$/m, `main = "${join(process.cwd(), "worker/index.ts")}"`)
      .replace(/^directory = .*$/m, `directory = "${join(process.cwd(), "build/web")}"`)
      .replace(/^dockerfile = .*$/m, `dockerfile = "${join(directory, "Dockerfile")}"`)
      .replace(/^build_context = .*$/m, `build_context = "${directory}"`);
    const path = join(directory, "wrangler.toml");
    writeFileSync(path, config);
    return path;
  }

  it("needs nothing but the agent, which may take its time to listen", async () => {
    const lines = [
      "FROM debian:trixie-slim",
      "RUN rm /bin/bash",
      "COPY roombox-agent /",
      "EXPOSE 8080",
      'ENTRYPOINT ["/bin/sh", "-c", "sleep 15; exec /roombox-agent"]',
    ];
    writeFileSync(join(context, "Dockerfile"), lines.join("\n"));
    await start(worker, "--config", configWith(context), "--persist-to", join(context, "state"));
    const began = performance.now();
    expect((await run("id -u; pwd; echo $0 > file; cat file")).stdout).toBe("1000\n/workspace\nsh\n");
    expect(performance.now() - began).toBeGreaterThan(14_000);
    expect(await json(200, "POST", "/api/rooms/r/sleep")).toMatchObject({ status: "asleep" });
    expect((await run("cat file")).stdout).toBe("sh\n");
    await json(200, "DELETE", "/api/rooms/r");
  }, 180_000);
});

// Only one that is ours, and ours alone, may be ended. All rooms are in it, so this comes last.
const isAlone = process.env.CI === "true" && process.env.DOCKER_HOST === "unix:///run/roombox/docker.sock";
describe.skipIf(!isAlone)("an engine that is ended", () => {
  it("takes its sandboxes along: told so, and started anew once it is back", async () => {
    await start(name, "--persist-to", state);
    await run("echo saved > file");
    await json(200, "POST", "/api/rooms/r/sleep");
    const waiting = run("touch begun; sleep 992");
    while ((await run("ls begun")).exitCode !== 0);
    execFileSync("scripts/daemon", ["stop"]);
    try {
      await expect(waiting).rejects.toThrow(/^500 /);
      expect(await json(200, "GET", "/api/rooms/r")).toMatchObject({ status: "asleep" });
      const { executions } = await json(200, "GET", "/api/rooms/r/sandbox/executions?status=failed");
      expect(executions).toHaveLength(1);
      await expect(run("true")).rejects.toThrow(/^50[03] /);
    } finally {
      execFileSync("scripts/daemon", ["start"]);
    }
    expect((await run("cat file; ls")).stdout).toBe("saved\nfile\n");
    await json(200, "DELETE", "/api/rooms/r");
  }, 120_000);
});
