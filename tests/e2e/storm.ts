import { createHash, randomBytes } from "node:crypto";
import { request as httpRequest } from "node:http";
import { Attached, bytesOn, Channel, type Said } from "./attach";
import { type ExecResult, events, executionPath, origin } from "./client";

// What clients do in a storm: calls whose right answer is known, each judged by whoever made it.

/** What a call was told instead of its answer, by a documented error: right where something was done to its room meanwhile. */
export class Told extends Error {}
/** An answer that is never right. */
export class Wrong extends Error {}

/** A random number that a seed repeats (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 to below a number. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  of<T>(all: readonly T[]): T {
    return all[this.below(all.length)] as T;
  }
}

/** Where a call is made, and with what. */
export interface Place {
  room: string;
  /** Of the client that calls; no other has it. */
  client: number;
  dice: Dice;
  /** A text that no other call has. */
  unique: string;
  /** Told of what a file has once that is acknowledged. */
  written(path: string, sum: string): void;
}
export type Call = (place: Place) => Promise<void>;

/** What no command of a storm leaves behind: pgrep finds it by this. */
export const MARK = "7777";

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
export const sumOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const NUMBERS = Array.from({ length: 200_000 }, (_, i) => `${i + 1}\n`).join("");
/** What `seq 1 upto` prints. */
const numbers = (upto: number) => NUMBERS.slice(0, NUMBERS.indexOf(`\n${upto}\n`) + `\n${upto}\n`.length);

/** The errors of docs/api.md that a fault, a sleep or a deletion may be told by. */
const TELLING: Record<number, readonly string[]> = {
  404: ["not_found"],
  409: ["conflict"],
  410: ["gone"],
  500: ["execution_failed"],
  502: ["bad_gateway"],
  503: ["unavailable"],
};

/** Throws what an error tells, given its status and its text. */
function tell(status: number, text: string): never {
  let code: unknown;
  try {
    ({ code } = JSON.parse(text));
  } catch {
    throw new Wrong(`${status} without JSON: ${text.slice(0, 200)}`);
  }
  if (!TELLING[status]?.includes(`${code}`)) throw new Wrong(`${status} ${text.slice(0, 300)}`);
  throw new Told(`${status} ${code}`);
}

/** Sends a call; anything but the statuses is what it tells. A connection that ends without an answer is never right. */
async function send(statuses: number[], method: string, path: string, init: RequestInit = {}): Promise<Response> {
  const reply = await fetch(origin() + path, { method, ...init }).catch((error: Error) => {
    throw new Wrong(`no answer to ${method} ${path}: ${error.cause ?? error}`);
  });
  return statuses.includes(reply.status) ? reply : tell(reply.status, await wholeText(reply));
}

const wholeText = (reply: Response) =>
  reply.text().catch((error: Error) => {
    throw new Wrong(`an answer of ${reply.status} broke off: ${error.cause ?? error}`);
  });

const execPath = (room: string) => `/api/rooms/${room}/sandbox/exec`;
const filePath = (room: string, name: string) => `/api/rooms/${room}/sandbox/files/workspace/${name}`;
const json = (body: object, headers: Record<string, string> = {}): RequestInit => ({
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body),
});

async function run(room: string, body: object, headers?: Record<string, string>): Promise<ExecResult> {
  const reply = await send([200, 202], "POST", execPath(room), json(body, headers));
  return JSON.parse(await wholeText(reply)).result;
}

/** How a command is to end. */
interface Ending {
  stdout: string;
  stderr?: string;
  exitCode: number;
  status?: string;
}

/** A result is as it should be, or was cancelled by a sleep or its room's end and has a part of what it should. */
function judge(result: ExecResult, { stdout, stderr = "", exitCode, status = "completed" }: Ending): void {
  const isTrue = result.status === status && result.exitCode === exitCode;
  if (isTrue && result.stdout === stdout && result.stderr === stderr) return;
  const isPart = stdout.startsWith(result.stdout) && stderr.startsWith(result.stderr);
  if (isPart && (result.status === "cancelled" || result.status === "failed")) throw new Told(result.status);
  const { stdout: got, ...rest } = result;
  throw new Wrong(`${JSON.stringify(rest).slice(0, 300)} with ${got.length} of ${stdout.length} bytes of stdout`);
}

/** Reads events to the last one, which is returned; throws what an `error` tells, or that a body broke off. */
async function readEvents(
  reply: Response,
  heard: { text: string; id: number },
  each: () => Promise<"on" | "leave"> = async () => "on",
): Promise<ExecResult | undefined> {
  try {
    for await (const { event, id, data } of events(reply)) {
      if (event === "error") throw data.code === "execution_failed" ? new Told("error event") : new Wrong(data.error);
      if (event === "exit") return data.result;
      if (event === "stderr") throw new Wrong(`stderr: ${data.data}`);
      if (event === "stdout") heard.text += data.data;
      heard.id = id;
      if ((await each()) === "leave") return undefined;
    }
  } catch (error) {
    if (error instanceof Told || error instanceof Wrong) throw error;
    throw new Told("stream broke off");
  }
  throw new Wrong(`a stream ended without exit or error after ${heard.text.length} bytes`);
}

function judgeStream(result: ExecResult, text: string, wanted: string, exitCode: number): void {
  if (result.status === "completed" && result.exitCode === exitCode && text === wanted) return;
  if (result.status === "cancelled" && wanted.startsWith(text)) throw new Told("cancelled");
  throw new Wrong(`${result.status} ${result.exitCode} after ${text.length} of ${wanted.length} bytes`);
}

/** A command that writes the numbers up to 10 000 in pieces for half a second. */
const PIECES = "for i in {0..19}; do seq $((i * 500 + 1)) $((i * 500 + 500)); sleep 0.025; done; exit 5";
const detached = async (room: string, cmd: string, options: object = {}) =>
  (await run(room, { cmd, detach: true, timeout_ms: 20_000, ...options })).id;

const stream = (room: string, cmd: string) => send([200], "POST", execPath(room), json({ cmd, stream: true }));

const plain: Call = async ({ room, dice }) => {
  const [upto, exitCode] = [2 + dice.below(20_000), dice.below(120)];
  const result = await run(room, { cmd: `seq 1 ${upto}; echo e >&2; exit ${exitCode}` });
  judge(result, { stdout: numbers(upto), stderr: "e\n", exitCode });
};

const fast: Call = async ({ room, dice }) => {
  const upto = 2 + dice.below(150_000);
  const heard = { text: "", id: 0 };
  const result = await readEvents(await stream(room, `seq 1 ${upto}; exit 3`), heard);
  if (result) judgeStream(result, heard.text, numbers(upto), 3);
};

const slow: Call = async ({ room, dice }) => {
  const heard = { text: "", id: 0 };
  const wait = async () => {
    if (dice.below(4) === 0) await pause(dice.below(300));
    return "on" as const;
  };
  const result = await readEvents(await stream(room, "seq 1 100000; exit 4"), heard, wait);
  if (result) judgeStream(result, heard.text, numbers(100_000), 4);
};

const leave: Call = async ({ room, dice }) => {
  const reply = await stream(room, `${PIECES.replace("exit 5", "")} sleep ${MARK}`);
  const heard = { text: "", id: 0 };
  let left = 1 + dice.below(15);
  const result = await readEvents(reply, heard, async () => (left-- > 0 ? "on" : "leave"));
  if (!result && !numbers(10_000).startsWith(heard.text)) throw new Wrong("other bytes than were written");
  if (result && result.status !== "cancelled") throw new Wrong(`it ended: ${JSON.stringify(result).slice(0, 300)}`);
};

/** Goes away in the middle of the answer by a reset of the connection. */
const reset: Call = ({ room }) =>
  new Promise((resolve, reject) => {
    const request = httpRequest(origin() + execPath(room), {
      method: "POST",
      headers: { "content-type": "application/json" },
      agent: false,
    });
    request.on("error", () => resolve()); // its end is our own doing
    request.on("response", (reply) => {
      const status = reply.statusCode ?? 0;
      let text = "";
      reply.on("data", (chunk) => {
        text += chunk;
        if (status === 200) reply.socket.resetAndDestroy();
      });
      reply.on("error", () => resolve());
      reply.on("close", resolve);
      reply.on("end", () => {
        try {
          if (status !== 200) tell(status, text);
        } catch (error) {
          reject(error);
        }
      });
    });
    request.end(JSON.stringify({ cmd: `seq 1 1000; sleep ${MARK}`, stream: true }));
  });

const resumed: Call = async ({ room, dice }) => {
  const id = await detached(room, PIECES);
  const heard = { text: "", id: 0 };
  for (;;) {
    const reply = await send([200], "GET", `${executionPath(room, id)}/events`, {
      headers: heard.id > 0 ? { "last-event-id": `${heard.id}` } : {},
    });
    let left = 1 + dice.below(12);
    const result = await readEvents(reply, heard, async () => (left-- > 0 ? "on" : "leave"));
    if (result) return judgeStream(result, heard.text, numbers(10_000), 5);
  }
};

/** The exit code that a socket told, if it did; throws where it closed without, but for one that may come back. */
function exitOf(all: Said[]): number | undefined {
  const exit = bytesOn(all, Channel.exit);
  if (exit.length > 0) return exit.readInt32BE();
  const last = all.at(-1);
  if (!last || !("closed" in last)) return undefined;
  if (last.closed === 1000) throw new Wrong("a socket closed with 1000 without an exit");
  if (last.closed !== 1013) throw new Told(`closed with ${last.closed}`);
  return undefined;
}

const attachTo = (room: string, id: string, query = "") =>
  Attached.to(room, id, query).catch((error: Error) => {
    throw new Told(error.message);
  });

function judgeAttached(code: number, text: string, wanted: string, exitCode: number): void {
  if (code === exitCode && text === wanted) return;
  if (code === 137 && wanted.startsWith(text)) throw new Told("cancelled");
  throw new Wrong(`exit ${code} after ${text.length} of ${wanted.length} bytes`);
}

const attached: Call = async ({ room, dice }) => {
  const id = await detached(room, PIECES);
  let text = "";
  for (;;) {
    const client = await attachTo(room, id, `?after=${1 + text.length}`);
    const all: Said[] = [];
    for (let left = 2 + dice.below(12); left > 0 && !("closed" in (all.at(-1) ?? {})); left--) {
      all.push(await client.next());
    }
    client.close();
    text += bytesOn(all, Channel.stdout);
    const code = exitOf(all);
    if (code !== undefined) return judgeAttached(code, text, numbers(10_000), 5);
  }
};

/** Attaches, takes nothing for a while, and is gone by a reset; the command ends as if nobody had. */
const stalled: Call = async ({ room, dice }) => {
  const id = await detached(room, "seq 1 200000; exit 6");
  await new Promise<void>((resolve, reject) => {
    const request = httpRequest(`${origin()}${executionPath(room, id)}/attach`, {
      agent: false,
      headers: {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": randomBytes(16).toString("base64"),
      },
    });
    request.on("error", (error) => reject(new Told(`${error.message} for an upgrade`)));
    request.on("response", (reply) => reply.resume().on("end", () => reject(new Told(`${reply.statusCode}`))));
    request.on("upgrade", async (_, socket) => {
      socket.on("error", () => undefined);
      socket.pause();
      await pause(dice.below(1500));
      if ("resetAndDestroy" in socket) (socket as import("node:net").Socket).resetAndDestroy();
      resolve();
    });
    request.end();
  });
  let code: number | undefined;
  while (code === undefined) code = exitOf(await (await attachTo(room, id)).toEnd());
  if (code === 137) throw new Told("cancelled");
  if (code !== 6) throw new Wrong(`exit ${code}`);
};

const terminal: Call = async ({ room, dice }) => {
  const upto = 1000 + dice.below(50_000);
  const cmd = `stty -opost -echo; read -r; seq 1 ${upto}; exit 9`;
  const client = await attachTo(room, await detached(room, cmd, { pty: {}, detach: undefined }));
  client.type("\n");
  const all = await client.toEnd();
  const code = exitOf(all);
  const text = `${bytesOn(all, Channel.stdout)}`;
  if (code === undefined) throw new Told("closed with 1013");
  const begin = text.indexOf("1\n"); // what was typed may be echoed before that
  judgeAttached(code, begin < 0 ? "" : text.slice(begin), numbers(upto), 9);
};

/** The persistent shell that a client has in each room. */
export const shellOf = (client: number) => `s${client}`;

const shell: Call = async ({ room, client }) => {
  const count = async () => {
    const result = await run(room, { cmd: "echo $((++n))", shell: shellOf(client) });
    if (result.status !== "completed") throw new Told(result.status);
    if (!/^[1-9]\d*\n$/.test(result.stdout)) throw new Wrong(`a shell counts ${result.stdout}`);
    return Number(result.stdout);
  };
  const first = await count();
  const second = await count();
  if (second === first + 1) return;
  throw second === 1 ? new Told("another shell") : new Wrong(`a shell counts ${first}, ${second}`);
};

const files: Call = async ({ room, dice, unique, written }) => {
  const bytes = randomBytes(1 + dice.below(dice.of([1000, 100_000, 3_000_000])));
  const name = `file-${unique}`;
  const made = await send([201], "PUT", filePath(room, name), { body: bytes });
  await wholeText(made);
  written(name, sumOf(bytes));
  const reply = await send([200], "GET", filePath(room, name));
  const read = await reply.arrayBuffer().catch(() => {
    throw new Told("a download broke off");
  });
  if (sumOf(new Uint8Array(read)) !== sumOf(bytes)) throw new Wrong(`${read.byteLength} other bytes in a file`);
};

/** An upload that its client breaks off leaves nothing. */
const cutUpload: Call = async ({ room, dice, unique }) => {
  const name = `cut-${unique}`;
  await new Promise<void>((resolve) => {
    const headers = { "content-length": 2_000_000 };
    const request = httpRequest(origin() + filePath(room, name), { method: "PUT", agent: false, headers });
    request.on("error", () => resolve());
    request.on("response", (reply) => reply.resume());
    request.on("close", resolve);
    request.write(randomBytes(1_000_000));
    setTimeout(() => (request.socket ? request.socket.resetAndDestroy() : request.destroy()), dice.below(300));
  });
  const reply = await send([404, 200], "GET", filePath(room, name));
  const text = await reply.text().catch(() => "");
  if (reply.status === 200) throw new Wrong(`a file of ${text.length} bytes by an upload that was cut`);
};

const keys: Call = async ({ room, unique }) => {
  const body = { cmd: `echo run >> key-${unique}; sleep 0.1; cat key-${unique}` };
  const headers = { "idempotency-key": unique };
  const results = await Promise.allSettled([1, 2, 3].map(() => run(room, body, headers)));
  const failures = results.filter((each) => each.status === "rejected").map(({ reason }) => reason);
  const wrong = failures.find((reason) => !(reason instanceof Told));
  if (wrong) throw wrong;
  const answers = results.filter((each) => each.status === "fulfilled").map(({ value }) => value);
  for (const result of answers) judge(result, { stdout: "run\n", exitCode: 0 });
  if (new Set(answers.map(({ id }) => id)).size > 1) throw new Wrong("a key ran more than once");
  if (failures[0]) throw failures[0];
};

const timeout: Call = async ({ room, dice }) => {
  const result = await run(room, { cmd: `setsid sleep ${MARK} & sleep ${MARK}`, timeout_ms: 50 + dice.below(500) });
  judge(result, { stdout: "", exitCode: 124, status: "timeout" });
};

const kill: Call = async ({ room, dice }) => {
  const id = await detached(room, `setsid sleep ${MARK} & sleep ${MARK}`);
  await pause(dice.below(200));
  const reply = await send([200], "POST", `${executionPath(room, id)}/kill`);
  const { result } = JSON.parse(await wholeText(reply));
  judge(result, { stdout: "", exitCode: 137, status: "cancelled" });
};

/** What clients do, by the name that it is counted by. */
export const CALLS: Record<string, Call> = {
  "plain exec": plain,
  "stream, read fast": fast,
  "stream, read slowly": slow,
  "stream, client leaves": leave,
  "stream, reset": reset,
  "stream, resumed": resumed,
  "socket, resumed": attached,
  "socket, stalled": stalled,
  terminal,
  shell,
  "file, up and down": files,
  "file, upload cut": cutUpload,
  "key, three at once": keys,
  timeout,
  kill,
};
