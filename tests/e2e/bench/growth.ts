// What costs more as there is more: records of a room, rooms that run at once, bytes of an answer; through `wrangler dev`.
// Prints rows (tests/bench/rows.ts).

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FIRST, figureOf, figuresOf, isQuick, print, quantile, roundsOf, shuffled } from "../../bench/rows.ts";
import { WranglerDev } from "../wrangler.ts";
import { fillRecords } from "./records.ts";
import { call, containersOf, docker, msOf, Rooms } from "./rooms.ts";

const ROUNDS = roundsOf(7);
/** Calls of each in a round. */
const CALLS = isQuick() ? 3 : 20;
const RECORDS = isQuick() ? [10, 1000] : [10, 1000, 100_000];
const RUNNING = isQuick() ? [1, 3] : [1, 10, 50];
const BYTES = isQuick() ? [1 << 10, 1 << 20] : [1 << 10, 1 << 16, 1 << 20, 1 << 23, 1 << 26];
const PAGE = 20;
const MIB = 1 << 20;

const name = process.env.ROOMBOX_NAME ?? "roombox";
const state = mkdtempSync(join(tmpdir(), "roombox-bench-"));
const start = () => WranglerDev.start(name, "--persist-to", state);

/** What does not grow: at most so many times what it is at the first size. */
const FLAT = 1.2;

/** What is measured at several sizes. */
interface Growth {
  what: string;
  /** What a size counts. */
  by: string;
  sizes: number[];
  /** Whether it must not grow. */
  shape: "flat" | "any";
}

function printPoint({ what, by, shape }: Growth, x: number, unit: string, rounds: number[], first = rounds): void {
  const isFlat = shape === "flat";
  const figures = figuresOf({ ours: rounds, ...(isFlat ? { [FIRST]: first } : {}) });
  const goals = isFlat && rounds !== first ? [{ to: FIRST, atMost: FLAT }] : [];
  const name = `${what}, ${x} ${by}`;
  print({ section: "growth", name, unit, better: "less", figures, goals, series: `${what}, by ${by}`, x });
}

/** Prints how long each takes, at each size; sizes take turns. */
async function measure(growth: Growth, work: (size: number) => Promise<unknown>, calls = CALLS): Promise<void> {
  const taken = new Map<number, number[]>(growth.sizes.map((size) => [size, []]));
  for (const size of growth.sizes) await work(size);
  for (let round = 0; round < ROUNDS; round++) {
    for (const size of shuffled(growth.sizes)) {
      const times: number[] = [];
      for (let i = 0; i < calls; i++) times.push(await msOf(() => work(size)));
      taken.get(size)?.push(quantile(times, 0.5));
    }
  }
  const [first] = taken.values();
  for (const [size, times] of taken) printPoint(growth, size, "ms", times, first);
}

const recordRoom = (count: number) => `records-${count}`;
/** A record of each room with so many. */
const recordIds = new Map<number, string>();

/** Rooms with one record each, which can be copied once no server runs. */
async function makeRecords(rooms: Rooms): Promise<void> {
  for (const count of RECORDS) {
    recordIds.set(count, (await rooms.run(recordRoom(count), "echo a line of output")).id);
    await rooms.sleep(recordRoom(count)); // its container would outlive the server
  }
}

async function benchRecords(rooms: Rooms): Promise<void> {
  // The oldest of too many are deleted, and the first was the one that is known.
  for (const count of RECORDS) recordIds.set(count, (await rooms.run(recordRoom(count))).id);
  const growth = { by: "records of the room", sizes: RECORDS, shape: "flat" } as const;
  const executions = (count: number, rest: string) => call(rooms.url(recordRoom(count), `/sandbox/executions${rest}`));
  await measure({ ...growth, what: "a command" }, (count) => rooms.run(recordRoom(count)));
  await measure({ ...growth, what: `a page of ${PAGE} records` }, async (count) => {
    const page = JSON.parse(await executions(count, `?limit=${PAGE}`)).executions;
    if (page.length < Math.min(count, PAGE)) throw new Error(`the room has no ${count} records`);
  });
  await measure({ ...growth, what: "one record" }, (count) => executions(count, `/${recordIds.get(count)}`));
  for (const count of RECORDS) await rooms.delete(recordRoom(count));
}

async function benchAnswers(rooms: Rooms): Promise<void> {
  const room = "answers";
  for (const bytes of BYTES) await rooms.run(room, `head -c ${bytes} /dev/zero >${bytes}`);
  const read = async (bytes: number) => {
    const reply = await fetch(rooms.url(room, `/sandbox/files/workspace/${bytes}`));
    let got = 0;
    for await (const chunk of reply.body ?? []) got += chunk.length;
    if (got !== bytes) throw new Error(`${got} bytes of ${bytes}`);
  };
  const growth = { what: "a file of the room, to its last byte", by: "bytes of the file", sizes: BYTES };
  await measure({ ...growth, shape: "any" }, read, 1);
  await rooms.delete(room);
}

const available = () => Number(/^MemAvailable:\s+(\d+)/m.exec(readFileSync("/proc/meminfo", "utf8"))?.[1]) * 1024;
const residentOf = (pid: string) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

/** The mean of the first processes of containers, in MiB. */
function residentMib(containers: string[]): number {
  const pids = docker("inspect", "--format", "{{.State.Pid}}", ...containers).split("\n");
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0) / pids.length / MIB;
}

/** What a room takes where so many run. */
async function benchRunning(rooms: Rooms): Promise<void> {
  const growth = { by: "rooms that run", sizes: RUNNING };
  const starts = { ...growth, what: "new rooms at once, time for each", shape: "any" } as const;
  const memory = { ...growth, what: "what the machine has less for a room", shape: "any" } as const;
  const warm = { ...growth, what: "a command", shape: "flat" } as const;
  const before = available();
  const ids: string[] = [];
  let first: number[] | undefined;
  for (const count of RUNNING) {
    const more = Array.from({ length: count - ids.length }, (_, i) => `running-${ids.length + i}`);
    const took = await msOf(() => Promise.all(more.map((id) => rooms.run(id))));
    ids.push(...more);
    printPoint(starts, count, "ms", [took / more.length]);
    printPoint(memory, count, "MiB", [(before - available()) / count / MIB]);
    const rounds = await commandsIn(rooms, ids);
    first ??= rounds;
    printPoint(warm, count, "ms", rounds, first);
  }
  printResident();
  for (const id of ids) await rooms.delete(id);
}

/** How long a command takes in each round, in rooms that take turns. */
async function commandsIn(rooms: Rooms, ids: string[]): Promise<number[]> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const order = shuffled(ids);
    const times: number[] = [];
    for (let i = 0; i < CALLS; i++) times.push(await msOf(() => rooms.run(order[i % order.length] ?? "")));
    rounds.push(quantile(times, 0.5));
  }
  return rounds;
}

function printResident(): void {
  const containers = containersOf(name, "Sandbox");
  const isIngress = (container: string) => container.endsWith("-proxy");
  const resident = {
    agent: residentMib(containers.filter((each) => !isIngress(each))),
    "local ingress": residentMib(containers.filter(isIngress)),
  };
  for (const [what, mib] of Object.entries(resident)) {
    const figures = { ours: figureOf([mib]) };
    print({ section: "memory", name: `an idle room's ${what}, resident`, unit: "MiB", better: "less", figures });
  }
}

let dev = await start();
try {
  await makeRecords(new Rooms(dev));
  await dev.stop();
  for (const [count, id] of recordIds) fillRecords(state, id, count);
  dev = await start();
  const rooms = new Rooms(dev);
  await benchRecords(rooms);
  await benchAnswers(rooms);
  await benchRunning(rooms);
} finally {
  await dev.stop();
  rmSync(state, { recursive: true });
}
