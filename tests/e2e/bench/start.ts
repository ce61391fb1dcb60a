// How long a room takes to answer that is new, that sleeps or that is awake, and what of that is whose; beside a container
// that does nothing, in the same run. Then many rooms at once. scripts/bench start runs it.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WranglerDev } from "../wrangler.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 15);
const ROOMS = Number(process.env.ROOMS ?? 50);
const MIB = 1 << 20;

const bareFiles = new URL("bare/", import.meta.url).pathname;
const name = process.env.ROOMBOX_NAME ?? "roombox";
const state = mkdtempSync(join(tmpdir(), "roombox-bench-"));
const docker = (...args: string[]) => execFileSync("docker", args, { encoding: "utf8" }).trim();

execFileSync("cc", ["-O2", "-static", "-o", `${bareFiles}server`, `${bareFiles}server.c`]);
const ours = await WranglerDev.start(name, "--persist-to", join(state, "ours"));
const bare = await WranglerDev.start(
  "roombox-bare",
  "--config",
  `${bareFiles}wrangler.toml`,
  "--persist-to",
  join(state, "bare"),
);

async function call(url: string, init: RequestInit = {}): Promise<string> {
  const reply = await fetch(url, init);
  const body = await reply.text();
  if (!reply.ok) throw new Error(`${init.method ?? "GET"} ${url}: ${reply.status} ${body}`);
  return body;
}
const room = (id: string) => `${ours.origin}/api/rooms/${id}`;
async function exec(id: string, cmd = "true"): Promise<string> {
  const headers = { "content-type": "application/json" };
  const body = await call(`${room(id)}/sandbox/exec`, { method: "POST", headers, body: JSON.stringify({ cmd }) });
  const { result } = JSON.parse(body);
  if (result.exitCode !== 0) throw new Error(body);
  return result.stdout;
}

const times = new Map<string, number[]>();
async function timed(what: string, work: Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work;
  times.set(what, [...(times.get(what) ?? []), performance.now() - began]);
}
const p50 = (what: string) => {
  const sorted = (times.get(what) ?? []).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

/** Two things side by side, the other way round each time: what the first leaves behind is the second's. */
async function pair(round: number, one: () => Promise<void>, other: () => Promise<void>): Promise<void> {
  for (const work of round % 2 === 0 ? [one, other] : [other, one]) await work();
}

for (let round = -1; round < ROUNDS; round++) {
  const id = `bench-${round}`;
  const bareUrl = (path: string) => `${bare.origin}/${path}?room=${id}`;
  if (round === 0) times.clear(); // the first one warms all up
  await pair(
    round,
    () => timed("bare, new", call(bareUrl(""))),
    () => timed("new", exec(id)),
  );
  await pair(
    round,
    () => timed("bare, to sleep", call(bareUrl("sleep"))),
    () => timed("to sleep", call(`${room(id)}/sleep`, { method: "POST" })),
  );
  await pair(
    round,
    () => timed("bare, from a snapshot", call(bareUrl(""))),
    () => timed("from a snapshot", exec(id)),
  );
  await timed("edge", call(`${ours.origin}/health`));
  await timed("object", call(room(id)));
  for (let i = 0; i < 5; i++) await timed("awake", exec(id));
  await call(bareUrl("destroy"));
  await timed("delete", call(room(id), { method: "DELETE" }));
}

const ms = (value: number) => `${value.toFixed(1).padStart(7)} ms`;
const row = (what: string, value: number, note = "") => console.log(`${what.padEnd(44)}${ms(value)}  ${note}`);
console.log(`p50 of ${ROUNDS} rounds, end to end through wrangler dev`);
row("a new room's first command", p50("new"));
row("  engine and workerd: a bare container", p50("bare, new"));
row("  ours on top: edge, object, agent, command", p50("new") - p50("bare, new"), "bound 30 ms");
row("a room's first command after sleep", p50("from a snapshot"));
row("  engine and workerd: a bare container", p50("bare, from a snapshot"));
row("  ours on top", p50("from a snapshot") - p50("bare, from a snapshot"), "bound 30 ms");
row("a command in a room that is awake", p50("awake"));
row("  wrangler dev and edge: GET /health", p50("edge"));
row("  object: GET /api/rooms/{id} on top of that", p50("object") - p50("edge"));
row("  agent and command on top of both", p50("awake") - p50("object"));
row("sleep by request: snapshot and end", p50("to sleep"));
row("  engine and workerd: a bare container", p50("bare, to sleep"));
row("delete of a room that is awake", p50("delete"));

// Many rooms.
const ids = Array.from({ length: ROOMS }, (_, i) => `many-${i}`);
const available = () => Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
const availableBefore = available();
const began = performance.now();
const answers = await Promise.all(ids.map((id) => exec(id, `echo ${id}`)));
const took = performance.now() - began;
if (answers.some((answer, i) => answer !== `${ids[i]}\n`)) throw new Error("a room answered something else");
const residentOf = (pid: string) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
const containers = docker("ps", "--format", "{{.Names}}")
  .split("\n")
  .filter((each) => each.includes(`-${name}-Sandbox-`));
const resident = (suffix: boolean) => {
  const some = containers.filter((each) => each.endsWith("-proxy") === suffix);
  const pids = docker("inspect", "--format", "{{.State.Pid}}", ...some).split("\n");
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0) / pids.length / MIB;
};
console.log(`${ROOMS} new rooms at once: all answered, the last after ${(took / 1000).toFixed(1)} s`);
console.log(
  `memory per idle room: agent ${resident(false).toFixed(1)} MiB, ingress ${resident(true).toFixed(1)} MiB (resident)`,
);
const perRoom = (availableBefore - available()) / ROOMS / MIB;
console.log(
  `memory that the machine has less for each: ${perRoom.toFixed(1)} MiB (with what the engine keeps for two containers)`,
);
const again = performance.now();
await Promise.all(ids.map((id) => exec(id)));
console.log(`a command in each of them at once: ${((performance.now() - again) / ROOMS).toFixed(1)} ms a room`);
await Promise.all(ids.map((id) => call(room(id), { method: "DELETE" })));

await ours.stop();
await bare.stop();
const left = docker("ps", "--all", "--quiet", "--filter", "name=-roombox-bare-Bare-").split("\n").filter(Boolean);
if (left.length > 0) docker("rm", "--force", ...left); // wrangler leaves their ingress
rmSync(state, { recursive: true });
