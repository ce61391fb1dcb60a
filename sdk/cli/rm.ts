import { type Command, placeOf } from "./command.ts";
import { print, printJson } from "./output.ts";

export const rm: Command = {
  name: "rm",
  operands: "ROOM | ROOM:/PATH",
  count: [1, 1],
  summary: "delete a room with all that is in it, or a file",
  options: { recursive: { type: "boolean", short: "r", help: "a directory with all that is in it" } },
  async run({ client, operands: [of = ""], options, json }) {
    const place = placeOf(of);
    if (place) {
      await client.room(place.room).files.remove(place.path, { recursive: options.recursive === true });
      if (json) await printJson({ path: place.path, deleted: true });
      return 0;
    }
    const deletion = await client.room(of).delete();
    await (json ? printJson(deletion) : print(deletion.deleted ? `deleted ${of}` : `there was no room ${of}`));
    return 0;
  },
};
