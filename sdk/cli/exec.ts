import { constants } from "node:os";
import {
  type Attachment,
  ConnectionError,
  type ExecEvent,
  type ExecResult,
  type Execution,
  type Room,
  RoomboxError,
  type StartOptions,
} from "../index.ts";
import { type Command, type Context, durationOf, textOf, UsageError, type Values } from "./command.ts";
import { BrokenPipe, PIPE_BROKEN, print, printJson, write } from "./output.ts";

/** What a command may still run after this process was ended in a way that it could not tell. */
const LOST_MS = 30_000;

/** Where a command runs, and with what: `environmentOf` reads them. */
export const ENVIRONMENT: Command["options"] = {
  cwd: { type: "string", value: "DIR", help: "directory to start in (/workspace)" },
  env: { type: "string", short: "e", multiple: true, value: "NAME=VALUE", help: "a variable; may be repeated" },
};

export const exec: Command = {
  name: "exec",
  operands: "ROOM [--] COMMAND…",
  count: [2, Number.POSITIVE_INFINITY],
  summary: "run a command as if it ran here",
  notes: [
    "One word is text for the room's shell; several are a program and its arguments.",
    "Ctrl-C sends SIGINT to all that the command started, the second time SIGKILL.",
    "With --json the result is printed instead, and the command has no stdin.",
    "Exits with the command's code, 128 + n after signal n; 125 if roombox fails.",
  ],
  options: {
    ...ENVIRONMENT,
    timeout: { type: "string", value: "TIME", help: "end it after, such as 30s or 5m" },
    "no-stdin": { type: "boolean", short: "n", help: "give it no input; it then waits for a slow reader" },
    detach: { type: "boolean", short: "d", help: "leave it running and print its id" },
  },
  run,
};

async function run({ client, operands, options, json }: Context): Promise<number> {
  const [id = "", ...words] = operands;
  const room = client.room(id);
  const cmd = commandText(words);
  const how = { ...environmentOf(options), timeoutMs: durationOf(options.timeout, "timeout") };
  if (options.detach === true) {
    const started = await room.start(cmd, { ...how, ...(options["no-stdin"] === true && { stdin: "" }) });
    await (json ? printJson(await started.record()) : print(started.id));
    return 0;
  }
  if (json) return printResult(room, cmd, how);
  return options["no-stdin"] === true ? runWithoutInput(room, cmd, how) : runAttached(room, cmd, how);
}

/** Text that a shell takes for these words; a single one is text already. */
export function commandText(words: string[]): string {
  if (words.length === 1) return words[0] ?? "";
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ");
}

/** Directory and variables that options give. */
export function environmentOf(options: Values): Pick<StartOptions, "cwd" | "env"> {
  const pairs = (options.env as string[] | undefined)?.map((pair) => {
    const equals = pair.indexOf("=");
    if (equals < 1) throw new UsageError(`--env: expected NAME=VALUE, received "${pair}"`);
    return [pair.slice(0, equals), pair.slice(equals + 1)] as const;
  });
  return { cwd: textOf(options.cwd), env: pairs && Object.fromEntries(pairs) };
}

async function printResult(room: Room, cmd: string, how: StartOptions): Promise<number> {
  const interrupted = new AbortController();
  const release = onSignals((name) => interrupted.abort(new Interrupted(name)));
  try {
    const result = await lastOf(
      room.stream(cmd, { ...how, timeoutMs: how.timeoutMs ?? MOST_MS, signal: interrupted.signal }),
    );
    await printJson(result);
    return result.exitCode ?? 0;
  } finally {
    release();
  }
}

type Told<Data> = Exclude<ExecEvent<Data>, { type: "exit" | "error" }>;

/** The result that events end with; who listens is told of those before it. */
async function lastOf<Data>(
  events: AsyncIterable<ExecEvent<Data>>,
  heard: (event: Told<Data>) => Promise<void> = async () => {},
): Promise<ExecResult<Data>> {
  for await (const event of events) {
    if (event.type === "error") throw event.error;
    if (event.type === "exit") return event.result;
    await heard(event);
  }
  throw new ConnectionError("the events ended before the command did");
}

/** The longest time that a command may be given. */
const MOST_MS = 3_600_000;

/** Streamed over one line, which the command waits for where stdout is slow. Who leaves that kills it. */
async function runWithoutInput(room: Room, cmd: string, how: StartOptions): Promise<number> {
  const left = new AbortController();
  const line = { resume: false, output: "bytes", signal: left.signal } as const;
  let execution: Execution | undefined;
  const release = onSignals(interrupter(() => execution, left));
  try {
    const events = room.stream(cmd, { ...how, timeoutMs: how.timeoutMs ?? MOST_MS, ...line } as typeof line);
    const { exitCode } = await lastOf(events, async (event) => {
      if (event.type === "start") execution = room.execution(event.id);
      else await write(process[event.type], event.data);
    });
    return exitCode ?? 0;
  } catch (error) {
    if (error instanceof BrokenPipe) return PIPE_BROKEN;
    throw error;
  } finally {
    release();
  }
}

/** Attached by a WebSocket, with this process's stdin. */
async function runAttached(room: Room, cmd: string, how: StartOptions): Promise<number> {
  // Else the command has begun, and done something, before that is told.
  if (!("WebSocket" in globalThis)) {
    throw new UsageError("this Node has no WebSocket: use Node 22, or node --experimental-websocket; -n does without");
  }
  const left = new AbortController();
  let execution: Execution | undefined;
  const release = onSignals(interrupter(() => execution, left));
  try {
    execution = await room.start(cmd, { ...how, maxRunAfterDisconnectMs: LOST_MS, signal: left.signal });
    const attachment = await execution.attach({ after: 1, signal: left.signal });
    const fed = feed(attachment).catch((error) => left.abort(error));
    for await (const { stream, data } of attachment) await write(process[stream], data);
    await Promise.race([fed, attachment.exit]);
    return await attachment.exit;
  } catch (error) {
    if (!(error instanceof RoomboxError && error.status === 500)) await execution?.kill().catch(() => {}); // it has ended
    if (error instanceof BrokenPipe) return PIPE_BROKEN;
    throw error;
  } finally {
    release();
  }
}

/** Passes this process's stdin on, to its end or that of the command. */
async function feed(attachment: Attachment): Promise<void> {
  try {
    for await (const chunk of process.stdin) await keepTyping(() => attachment.write(chunk));
    await keepTyping(() => attachment.end());
  } catch (error) {
    if (!(error instanceof RoomboxError && error.code === "conflict")) throw error; // it ended, and needs no more
  }
}

/** Who types sees what has arrived; a file must not come with a hole in it. */
async function keepTyping(send: () => Promise<void>): Promise<void> {
  try {
    await send();
  } catch (error) {
    if (!process.stdin.isTTY || !(error instanceof ConnectionError)) throw error;
    await send();
  }
}

/** A signal ended this process's work. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

const SIGNALS: NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Calls back with each signal, until it is released. */
export function onSignals(callback: (name: NodeJS.Signals) => void): () => void {
  for (const name of SIGNALS) process.on(name, callback);
  return () => {
    for (const name of SIGNALS) process.off(name, callback);
  };
}

/** Passes Ctrl-C on, once as it is and then as SIGKILL; what can be told to nobody ends this process. */
function interrupter(execution: () => Execution | undefined, left: AbortController): (name: NodeJS.Signals) => void {
  let times = 0;
  return (name) => {
    const running = execution();
    if (!running || ++times > 2) return left.abort(new Interrupted(name));
    const isGentle = name === "SIGINT" && times === 1;
    running.kill(isGentle ? "SIGINT" : "SIGKILL").catch((error) => {
      if (error instanceof ConnectionError) left.abort(error);
    });
  };
}
