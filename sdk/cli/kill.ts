import type { Command } from "./command.ts";
import { printJson } from "./output.ts";

export const kill: Command = {
  name: "kill",
  operands: "ROOM ID [SIGNAL]",
  count: [2, 3],
  summary: "signal an execution's tree; SIGKILL if not said",
  options: {},
  async run({ client, operands: [room = "", id = "", signal = "SIGKILL"], json }) {
    const record = await client
      .room(room)
      .execution(id)
      .kill(/^\d+$/.test(signal) ? Number(signal) : signal);
    if (json) await printJson(record);
    return 0;
  },
};
