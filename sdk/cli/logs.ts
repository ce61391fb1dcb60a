import { type Room, RoomboxError } from "../index.ts";
import type { Command, Context } from "./command.ts";
import { printJson, write } from "./output.ts";

export const logs: Command = {
  name: "logs",
  operands: "ROOM [ID]",
  count: [1, 2],
  summary: "print what an execution wrote (the newest)",
  options: { follow: { type: "boolean", short: "f", help: "go on until it ends" } },
  run,
};

async function run({ client, operands: [name = "", id], options, json }: Context): Promise<number> {
  const room = client.room(name);
  const execution = room.execution(id ?? (await newest(room)));
  const follow = options.follow === true;
  if (json) await printJson(await (follow ? execution.result() : execution.record()));
  else await copy(await execution.attach({ follow }));
  return 0;
}

async function copy(output: AsyncIterable<{ stream: "stdout" | "stderr"; data: Uint8Array }>): Promise<void> {
  for await (const { stream, data } of output) await write(process[stream], data);
}

async function newest(room: Room): Promise<string> {
  for await (const { id } of room.executions({ pageSize: 1 })) return id;
  throw new RoomboxError(`the room ${room.id} has no executions`, "not_found", { status: 404 });
}
