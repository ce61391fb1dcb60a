import { type Command, type Context, placeOf, textOf, UsageError } from "./command.ts";
import { printJson, printTable } from "./output.ts";

export const ls: Command = {
  name: "ls",
  operands: "[ROOM | ROOM:/PATH]",
  count: [0, 1],
  summary: "list rooms, executions of a room, or a directory",
  options: { limit: { type: "string", value: "N", help: "so many rooms or executions (20)" } },
  run,
};

async function run(context: Context): Promise<number> {
  const [of] = context.operands;
  const place = of === undefined ? undefined : placeOf(of);
  if (of === undefined) await listRooms(context);
  else if (place) await listFiles(context, place);
  else await listExecutions(context, of);
  return 0;
}

async function listRooms({ client, options, json }: Context): Promise<void> {
  const rooms = await first(client.rooms(), limitOf(textOf(options.limit)));
  if (json) return printJson(rooms);
  const rows = rooms.map(({ roomID, status, lastActiveAt }) => [roomID, status, lastActiveAt ?? ""]);
  await printTable(["ROOM", "STATUS", "LAST ACTIVE"], rows);
}

async function listExecutions({ client, options, json }: Context, room: string): Promise<void> {
  const executions = await first(client.room(room).executions(), limitOf(textOf(options.limit)));
  if (json) return printJson(executions);
  const rows = executions.map(({ id, status, exitCode, timestamp, command }) => {
    return [id, status, `${exitCode ?? ""}`, timestamp, short(command)];
  });
  await printTable(["ID", "STATUS", "CODE", "STARTED", "COMMAND"], rows);
}

async function listFiles({ client, json }: Context, { room, path }: { room: string; path: string }): Promise<void> {
  const entries = await client.room(room).files.list(path);
  if (json) return printJson(entries);
  const kinds = { file: "", directory: "/", symlink: "@", other: "=" };
  const rows = entries.map(({ mode, size, modifiedAt, name, type }) => [
    mode,
    `${size}`,
    modifiedAt,
    name + kinds[type],
  ]);
  await printTable(["MODE", "SIZE", "MODIFIED", "NAME"], rows);
}

function limitOf(text = "20"): number {
  if (!/^[1-9]\d*$/.test(text)) throw new UsageError(`--limit: expected a whole number from 1, received "${text}"`);
  return Number(text);
}

async function first<T>(all: AsyncIterable<T>, limit: number): Promise<T[]> {
  const some: T[] = [];
  for await (const each of all) if (some.push(each) >= limit) break;
  return some;
}

const WIDTH = 60;
const short = (text: string) => (text.length > WIDTH ? `${text.slice(0, WIDTH - 1)}…` : text);
