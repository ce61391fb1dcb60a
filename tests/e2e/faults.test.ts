import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { call, callJson, containerOf, docker, exec, newRoom, origin, remove } from "./client";
import { CALLS, type Call, Dice, MARK, pause, shellOf, sumOf, Told } from "./storm";
import { NAME } from "./wrangler";

// Many clients at once, while agents are killed, containers stopped and taken away, rooms put to sleep and deleted. Every call is
// answered, in time and truly; an error is told where something was done to the room meanwhile, and nowhere else; and
// afterwards all is as if nothing had been.

const SECONDS = Number(process.env.FAULT_SECONDS ?? 20);
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);
const ROOMS = 6;
const CLIENTS = 16;
/** How long a call may take, with a start of a container that takes all of START_TIMEOUT (wrangler.toml). */
const BOUND_MS = 60_000;
/** How long after a fault a room's calls may be told of it. */
const AFTERMATH_MS = 2000;
/** Pauses between faults of one room, at most. */
const CALM_MS = 12_000;
/** What an agent may have, at rest after a storm: bytes of memory, open descriptors. */
const RESIDENT_MAX = 64 << 20;
const DESCRIPTORS_MAX = 64;

const docked = promisify(execFile);
const containers = () =>
  docker("ps", "--all", "--format", "{{.Names}}", "--filter", `name=-${NAME}-Sandbox-`)
    .split("\n")
    .filter((name) => name && !name.endsWith("-proxy"));

/** The same, or else an error once the bound is over. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${BOUND_MS / 1000} s`)), BOUND_MS);
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

interface WrittenFile {
  sum: string;
  /** Whether a snapshot has it. */
  saved: boolean;
}
interface Trouble {
  kind: string;
  from: number;
  to: number;
}

/** A room of the storm: what was done to it, and what it must still have. */
class Room {
  readonly name = newRoom();
  readonly troubles: Trouble[] = [];
  readonly files = new Map<string, WrittenFile>();
  container = "";
  /** How often a fault found no container of it. */
  missed = 0;

  constructor(readonly isSpared: boolean) {}

  /** What was done to it at some time of an interval. */
  troublesDuring(from: number, to: number): string[] {
    return this.troubles.filter((each) => each.from <= to && from <= each.to + AFTERMATH_MS).map(({ kind }) => kind);
  }

  async trouble(kind: string, work: () => Promise<unknown>): Promise<void> {
    const trouble = { kind, from: performance.now(), to: Number.POSITIVE_INFINITY };
    this.troubles.push(trouble);
    await work().finally(() => {
      trouble.to = performance.now();
    });
  }

  /** Its files as they were saved last are what is left. */
  loseUnsaved(): void {
    for (const [name, { saved }] of this.files) if (!saved) this.files.delete(name);
  }
}

type Fault = (room: Room) => Promise<void>;

const byEngine =
  (...args: string[]): Fault =>
  async (room) => {
    room.loseUnsaved();
    await docked("docker", [...args, room.container]).catch(() => room.missed++);
    room.loseUnsaved(); // and what was written until then
  };

/** Nobody is told of this: calls take longer, that is all. */
const stop: Fault = async (room) => {
  await docked("docker", ["pause", room.container]).catch(() => room.missed++);
  await pause(1000);
  await docked("docker", ["unpause", room.container]).catch(() => undefined); // what was put away meanwhile is no more
};

const sleep: Fault = async ({ name, files }) => {
  const before = [...files];
  const reply = await call("POST", `/api/rooms/${name}/sleep`);
  await reply.text();
  if (reply.status === 200) for (const [path, file] of before) if (files.get(path) === file) file.saved = true;
  if (![200, 404, 410, 503].includes(reply.status)) throw new Error(`a sleep was answered ${reply.status}`);
};

const deletion: Fault = async ({ name, files }) => {
  files.clear();
  await remove(name);
  files.clear();
};

const FAULTS: Record<string, Fault> = {
  "agent killed": byEngine("kill"),
  "agent ended": byEngine("kill", "--signal", "TERM"),
  "container removed": byEngine("rm", "--force"),
  "container stopped": stop,
  "put to sleep": sleep,
  deleted: deletion,
};
/** How often each comes, beside the others. */
const OFTEN = [
  ...["agent killed", "agent killed", "agent killed", "agent ended", "container removed"],
  ...["container stopped", "container stopped", "put to sleep", "put to sleep", "deleted"],
];
const HARMLESS = "container stopped";

/** What came of the calls of a kind. */
interface Count {
  right: number;
  told: number;
  slowest: number;
}

class Storm {
  readonly counts = new Map(
    Object.keys(CALLS).map((kind): [string, Count] => [kind, { right: 0, told: 0, slowest: 0 }]),
  );
  readonly faults = new Map<string, number>();
  readonly tellings = new Map<string, number>();
  readonly findings: string[] = [];
  #until = 0;
  #calls = 0;

  constructor(readonly rooms: Room[]) {}

  async rage(seconds: number, seed: number): Promise<void> {
    this.#until = performance.now() + seconds * 1000;
    const clients = Array.from({ length: CLIENTS }, (_, i) => this.#client(i, new Dice(seed + i)));
    const misfortunes = this.rooms.map((room, i) => this.#misfortune(room, new Dice(seed + 1000 + i)));
    await Promise.all([...clients, ...misfortunes]);
  }

  find(room: Room, what: string): void {
    this.findings.push(`${room.name} at ${(performance.now() / 1000).toFixed(1)} s: ${what}`);
  }

  async #client(client: number, dice: Dice): Promise<void> {
    while (performance.now() < this.#until) {
      await this.#callOnce(client, dice.of(this.rooms), dice.of(Object.keys(CALLS)), dice);
    }
  }

  async #callOnce(client: number, room: Room, kind: string, dice: Dice): Promise<void> {
    const from = performance.now();
    const unique = `${this.#calls++}`;
    const written = (path: string, sum: string) => {
      const losing = room
        .troublesDuring(from, performance.now())
        .filter((each) => each !== HARMLESS && each !== "put to sleep");
      if (losing.length === 0) room.files.set(path, { sum, saved: false });
    };
    const made = (CALLS[kind] as Call)({ room: room.name, client, dice, unique, written });
    const failure = await inTime(made).then(
      () => undefined,
      (error: unknown) => error,
    );
    this.#note(room, kind, from, failure);
  }

  #note(room: Room, kind: string, from: number, failure: unknown): void {
    const to = performance.now();
    const count = this.counts.get(kind) as Count;
    count.slowest = Math.max(count.slowest, to - from);
    const troubles = room.troublesDuring(from, to);
    if (!failure) count.right++;
    else if (failure instanceof Told && troubles.some((each) => each !== HARMLESS)) {
      count.told++;
      this.tellings.set(failure.message, (this.tellings.get(failure.message) ?? 0) + 1);
    } else this.find(room, `${kind} after ${(to - from).toFixed(0)} ms (meanwhile: ${troubles}): ${failure}`);
  }

  async #misfortune(room: Room, dice: Dice): Promise<void> {
    for (;;) {
      await pause(dice.below(CALM_MS));
      if (performance.now() >= this.#until) return;
      const kind = room.isSpared ? HARMLESS : dice.of(OFTEN);
      this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
      await room
        .trouble(kind, () => inTime((FAULTS[kind] as Fault)(room)))
        .catch((error) => this.find(room, `${error}`));
    }
  }
}

/** What is left in a room after a storm that should not be, or is not that should. */
async function remnants({ name, files }: Room): Promise<string[]> {
  const found: string[] = [];
  const { stdout } = await inTime(exec(name, "echo ok"));
  if (stdout !== "ok\n") found.push(`it echoes ${stdout}`);
  const running = async () =>
    (await callJson(200, "GET", `/api/rooms/${name}/sandbox/executions?status=running`)).executions;
  await expect.poll(running, { timeout: BOUND_MS, interval: 200 }).toEqual([]);
  const marked = await exec(name, `pgrep -fx 'sleep ${MARK}'; ls -A | grep ^.roombox-`);
  if (marked.stdout !== "") found.push(`left behind: ${marked.stdout}`);
  const twice = await exec(
    name,
    'for key in key-*; do [ ! -e "$key" ] || [ "$(wc -l < "$key")" = 1 ] || echo "$key"; done',
  );
  if (twice.stdout !== "") found.push(`ran twice: ${twice.stdout}`);
  for (const [path, { sum }] of files) {
    const reply = await call("GET", `/api/rooms/${name}/sandbox/files/workspace/${path}`);
    const bytes = new Uint8Array(await reply.arrayBuffer());
    if (reply.status !== 200 || sumOf(bytes) !== sum) found.push(`${path}: ${reply.status}, ${bytes.byteLength} bytes`);
  }
  return found;
}

/** Ends the shells of a room's clients: each keeps some descriptors of the agent while it lives. */
async function endShells({ name }: Room): Promise<void> {
  for (let client = 0; client < CLIENTS; client++) {
    const { result } = await callJson(200, "POST", `/api/rooms/${name}/sandbox/exec`, {
      cmd: "exit",
      shell: shellOf(client),
    });
    expect(result.shellExited).toBe(true);
  }
}

/** What an agent has: open descriptors, and bytes of memory. */
function agentOf(container: string): { descriptors: number; resident: number } {
  const look = "ls /proc/1/fd | wc -l; grep VmRSS /proc/1/status";
  const [descriptors, resident] = docker("exec", "--user", "0", container, "sh", "-c", look).split("\n");
  return { descriptors: Number(descriptors), resident: Number(/\d+/.exec(resident ?? "")) * 1024 };
}

function table(storm: Storm): string {
  const line = (...cells: unknown[]) =>
    cells.map((cell, i) => `${cell}`[i ? "padStart" : "padEnd"](i ? 9 : 24)).join("");
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`;
  const calls = [...storm.counts].map(([kind, { right, told, slowest }]) => line(kind, right, told, seconds(slowest)));
  const sum = (key: "right" | "told") => [...storm.counts.values()].reduce((all, count) => all + count[key], 0);
  const sorted = (counts: Map<string, number>) =>
    [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([what, n]) => `${what} ${n}`)
      .join(", ");
  return [
    line("calls", "right", "told", "slowest"),
    ...calls,
    line("all", sum("right"), sum("told")),
    `faults: ${sorted(storm.faults)}; ${storm.rooms.reduce((all, { missed }) => all + missed, 0)} found no container`,
    `told by: ${sorted(storm.tellings)}`,
    `files still there: ${storm.rooms.reduce((all, { files }) => all + files.size, 0)}`,
    `findings: ${storm.findings.length}`,
    ...storm.findings.slice(0, 40),
  ].join("\n");
}

it(
  `answers every call truly through ${SECONDS} s of faults`,
  async () => {
    const before = containers();
    const rooms = Array.from({ length: ROOMS }, (_, i) => new Room(i === 0));
    for (const room of rooms) room.container = await containerOf(room.name);
    const storm = new Storm(rooms);
    console.log(`${ROOMS} rooms at ${origin()}, ${CLIENTS} clients, ${SECONDS} s, FAULT_SEED=${SEED}`);
    await storm.rage(SECONDS, SEED);

    for (const room of rooms) {
      const found = await remnants(room).catch((error) => [`afterwards: ${error}`]);
      for (const what of found) storm.find(room, what);
    }
    console.log(table(storm));
    expect(storm.findings).toEqual([]);
    expect(containers().length).toBe(before.length + ROOMS);
    for (const room of rooms) await endShells(room);
    for (const { container } of rooms) {
      await expect
        .poll(() => agentOf(container).descriptors, { timeout: 60_000, interval: 1000 })
        .toBeLessThan(DESCRIPTORS_MAX);
    }
    const agents = rooms.map(({ container }) => agentOf(container));
    const most = (key: "descriptors" | "resident") => Math.max(...agents.map((agent) => agent[key]));
    console.log(`agents, at most: ${most("descriptors")} descriptors, ${(most("resident") / 2 ** 20).toFixed(1)} MiB`);
    expect(most("resident")).toBeLessThan(RESIDENT_MAX);
    for (const { name } of rooms) await remove(name);
    expect(containers().sort()).toEqual(before.sort());
  },
  (SECONDS + 300) * 1000,
);
