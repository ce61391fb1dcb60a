#!/usr/bin/env -S node --no-warnings --experimental-websocket
// The flags are for Node 20, which has WebSockets but hides them.
import { RoomboxError, roombox } from "../index.ts";
import { type Command, checkCount, FAILED, parse, textOf, UsageError, type Values } from "./command.ts";
import { completion } from "./completion.ts";
import { cp } from "./cp.ts";
import { exec, Interrupted } from "./exec.ts";
import { helpOf, overview } from "./help.ts";
import { kill } from "./kill.ts";
import { logs } from "./logs.ts";
import { ls } from "./ls.ts";
import { BrokenPipe, PIPE_BROKEN, print, takeErrors, tell } from "./output.ts";
import { rm } from "./rm.ts";
import { shell } from "./shell.ts";
import { token } from "./token.ts";

const COMMANDS: Command[] = [exec, shell, ls, logs, kill, cp, rm, token, completion(() => COMMANDS)];

const DEFAULT_URL = "http://localhost:8787";

/** Runs a command line to its exit code. */
async function run([name, ...args]: string[]): Promise<number> {
  const command = COMMANDS.find((each) => each.name === name);
  const asked = name === "help" ? COMMANDS.find((each) => each.name === args[0]) : undefined;
  if (asked) return show(helpOf(asked));
  if (name === undefined || ["help", "--help", "-h"].includes(name)) return show(overview(COMMANDS));
  if (!command) throw new UsageError(`there is no command "${name}"; roombox --help has them all`);
  const { operands, options } = parse(command, args);
  if (options.help === true) return show(helpOf(command));
  checkCount(command, operands);
  return command.run({ client: clientOf(options), operands, options, json: options.json === true });
}

async function show(text: string): Promise<number> {
  await print(text);
  return 0;
}

function clientOf(options: Values) {
  const { ROOMBOX_URL, ROOMBOX_TOKEN, ROOMBOX_API_KEY } = process.env;
  const given = textOf(options.token) ?? (ROOMBOX_TOKEN || ROOMBOX_API_KEY);
  return roombox({ url: textOf(options.url) ?? (ROOMBOX_URL || DEFAULT_URL), ...(given && { token: given }) });
}

/** Tells what went wrong; the exit code for it. */
async function failed(error: unknown, json: boolean): Promise<number> {
  if (error instanceof BrokenPipe) return PIPE_BROKEN;
  if (error instanceof Interrupted) return error.exitCode;
  const { message } = error instanceof Error ? error : new Error(`${error}`);
  const fields = error instanceof RoomboxError ? { code: error.code, requestId: error.requestId } : {};
  const hint = error instanceof RoomboxError && error.requestId ? ` (request ${error.requestId})` : "";
  await tell(json ? JSON.stringify({ error: message, ...fields }) : `roombox: ${message}${hint}`).catch(() => {});
  return FAILED;
}

takeErrors();
const args = process.argv.slice(2);
const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
const code = await run(args).catch((error) => failed(error, own.includes("--json")));
process.exit(code); // not as soon as nothing is left to do: stdin may still be open
