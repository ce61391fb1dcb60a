// How long a room takes to answer that is new, that sleeps or that is awake, and each hop on the way to it; beside a worker, an
// object and a container that do nothing, in the same run, through `wrangler dev`. Prints rows (tests/bench/rows.ts).

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { figuresOf, type Goal, isQuick, print, quantile, roundsOf, shuffled } from "../../bench/rows.ts";
import { WranglerDev } from "../wrangler.ts";
import { call, docker, msOf, Rooms } from "./rooms.ts";

const ROUNDS = roundsOf(15);
/** Calls of each kind to a room that is awake, in a round. */
const CALLS = isQuick() ? 3 : 10;
/** Ours on top of what engine and workerd take for a start, in milliseconds. */
const MOST_ON_TOP = 30;

const bareFiles = new URL("bare/", import.meta.url).pathname;
const name = process.env.ROOMBOX_NAME ?? "roombox";
const state = mkdtempSync(join(tmpdir(), "roombox-bench-"));

execFileSync("cc", ["-O2", "-static", "-o", `${bareFiles}server`, `${bareFiles}server.c`]);
const dev = await WranglerDev.start(name, "--persist-to", join(state, "ours"));
const bareConfig = ["--config", `${bareFiles}wrangler.toml`, "--persist-to", join(state, "bare")];
const bareDev = await WranglerDev.start("roombox-bare", ...bareConfig);
const rooms = new Rooms(dev);

/** What is timed: the same for ours and for what does nothing. */
interface Step {
  name: string;
  ours: (id: string) => Promise<unknown>;
  bare: (id: string) => Promise<unknown>;
  /** The difference has a bound: most of a start is engine and workerd. */
  isStart?: true;
  /** How often, in a round. */
  calls?: number;
}
const bare = (path: string) => (id: string) => call(`${bareDev.origin}/${path}?room=${id}`);
const COMMAND: Step = {
  name: "two hops: a command, warm",
  ours: (id) => rooms.run(id),
  bare: bare("container"),
  calls: CALLS,
};
const STEPS: Step[] = [
  { name: "the first command of a new room", ours: (id) => rooms.run(id), bare: bare(""), isStart: true },
  { name: "sleep: snapshot and end", ours: (id) => rooms.sleep(id), bare: bare("sleep") },
  { name: "the first command after sleep", ours: (id) => rooms.run(id), bare: bare(""), isStart: true },
  {
    name: "a Worker's own answer (400)",
    ours: (id) => rooms.exec(id, { cmd: "" }, 400),
    bare: bare("worker"),
    calls: CALLS,
  },
  {
    name: "one hop: the room's object (status)",
    ours: (id) => call(rooms.url(id)),
    bare: bare("object"),
    calls: CALLS,
  },
  COMMAND,
  { name: "delete of a room that is awake", ours: (id) => rooms.delete(id), bare: bare("destroy") },
];
const WHO = ["ours", "bare"] as const;

/** The medians of a round's calls. */
async function take({ ours, bare, calls = 1 }: Step, id: string): Promise<Record<(typeof WHO)[number], number>> {
  const work = { ours, bare };
  const times = { ours: [] as number[], bare: [] as number[] };
  for (let i = 0; i < calls; i++) {
    for (const who of shuffled([...WHO])) times[who].push(await msOf(() => work[who](id)));
  }
  return { ours: quantile(times.ours, 0.5), bare: quantile(times.bare, 0.5) };
}

/** How long a room's executions took on average, as its agent sees it, in milliseconds. */
async function meanOfAgent(id: string): Promise<number> {
  const metrics = await call(rooms.url(id, "/sandbox/metrics"));
  const total = (what: string) =>
    metrics
      .split("\n")
      .filter((line) => line.startsWith(`roombox_execution_duration_seconds_${what}`))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  return (total("sum") / total("count")) * 1000;
}

const taken = new Map(STEPS.map((step) => [step, { ours: [] as number[], bare: [] as number[] }]));
const agent: number[] = [];

async function round(id: string, counts: boolean): Promise<void> {
  for (const [step, rounds] of taken) {
    const times = await take(step, id);
    const inAgent = step === COMMAND ? [await meanOfAgent(id)] : [];
    if (!counts) continue;
    for (const who of WHO) rounds[who].push(times[who]);
    agent.push(...inAgent);
  }
}

function printRow(name: string, figures: Record<string, number[]>, goals: Goal[] = []): void {
  print({ section: "path", name, unit: "ms", better: "less", figures: figuresOf(figures), goals });
}

try {
  for (let i = -1; i < ROUNDS; i++) await round(`bench-${i}`, i >= 0); // the first one warms all up
  for (const [{ name, isStart }, { ours, bare }] of taken) {
    printRow(name, { ours, bare });
    if (!isStart) continue;
    const onTop = ours.map((ms, i) => ms - (bare[i] ?? Number.NaN));
    printRow(`${name}: ours on top of a bare container`, { ours: onTop }, [{ atMost: MOST_ON_TOP }]);
  }
  printRow("the agent's own part of a command, mean", { ours: agent });
} finally {
  await dev.stop();
  await bareDev.stop();
  const left = docker("ps", "--all", "--quiet", "--filter", "name=-roombox-bare-Bare-").split("\n").filter(Boolean);
  if (left.length > 0) docker("rm", "--force", ...left); // wrangler leaves their ingress
  rmSync(state, { recursive: true });
}
