import type { Attachment } from "../index.ts";
import { pause } from "../time.ts";
import { type Command, type Context, textOf, UsageError } from "./command.ts";
import { commandText, ENVIRONMENT, environmentOf, Interrupted, onSignals } from "./exec.ts";
import { printJson, tell, write } from "./output.ts";

/** Ctrl-], as telnet has it. */
const DETACH_KEY = 0x1d;
/** Who leaves waits so long for what was typed before to be sent. */
const LEAVING_MS = 1_000;

export const shell: Command = {
  name: "shell",
  operands: "ROOM [--] [COMMAND…]",
  count: [1, Number.POSITIVE_INFINITY],
  summary: "open a terminal; Ctrl-] leaves it running",
  notes: [
    "Without COMMAND it is the shell of the room's user.",
    "Ctrl-] leaves, and tells an id; with it --id comes back, to the same screen.",
    "Exits with the command's code, 0 where it was left; 125 if roombox fails.",
  ],
  options: {
    ...ENVIRONMENT,
    id: { type: "string", value: "ID", help: "come back to one that runs" },
  },
  run,
};

async function run({ client, operands: [id = "", ...words], options, json }: Context): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) throw new UsageError("shell needs a terminal; use exec for scripts and pipes");
  const room = client.room(id);
  const known = textOf(options.id);
  const size = sizeOf(stdout);
  const { env, cwd } = environmentOf(options);
  const start = { ...size, cwd, env: { TERM: process.env.TERM ?? "xterm-256color", ...env } };
  const cmd = words.length > 0 ? { cmd: commandText(words) } : {};
  const attachment = await (known ? room.execution(known).attach() : room.terminal({ ...start, ...cmd }));
  if (known) await attachment.resize(size.cols, size.rows);
  const left = await connect(attachment);
  if (!left) return attachment.exit;
  await (json
    ? printJson({ id: attachment.id })
    : tell(`\r\nleft it running; back: roombox shell ${id} --id ${attachment.id}`));
  return 0;
}

/** A terminal that does not know its size has none. */
const sizeOf = ({ columns, rows }: { columns: number; rows: number }) => ({ cols: columns || 80, rows: rows || 24 });

/** Connects this terminal with that one until one of them ends; whether it was this one. */
async function connect(attachment: Attachment): Promise<boolean> {
  const { stdin, stdout } = process;
  const restore = () => stdin.setRawMode(false);
  const resize = () => {
    const { cols, rows } = sizeOf(stdout);
    attachment.resize(cols, rows).catch(() => {}); // it has ended
  };
  let left = false;
  /** The last of what was typed: one goes after the other, whatever becomes of the line. */
  let sent: Promise<void> = Promise.resolve();
  const type = (bytes: Buffer) => {
    const key = bytes.indexOf(DETACH_KEY);
    left = key >= 0;
    const typed = left ? bytes.subarray(0, key) : bytes;
    const send = () => attachment.write(typed);
    sent = sent.then(() => send().catch(send)).catch(() => {}); // who types sees what was lost
    if (left) Promise.race([sent, pause(LEAVING_MS)]).finally(() => attachment.close());
  };
  const release = onSignals((name) => process.exit(new Interrupted(name).exitCode));
  process.on("exit", restore);
  stdout.on("resize", resize);
  stdin.setRawMode(true);
  stdin.on("data", type);
  try {
    for await (const { data } of attachment) await write(stdout, data);
  } finally {
    stdin.off("data", type).pause();
    stdout.off("resize", resize);
    process.off("exit", restore);
    restore();
    release();
  }
  return left;
}
