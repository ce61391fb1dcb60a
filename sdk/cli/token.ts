import type { Scope } from "../index.ts";
import { type Command, durationOf, UsageError } from "./command.ts";
import { print, printJson } from "./output.ts";

export const token: Command = {
  name: "token",
  operands: "ROOM",
  count: [1, 1],
  summary: "make a room token, for a browser",
  options: {
    scope: {
      type: "string",
      multiple: true,
      value: "SCOPES",
      help: "some of exec,attach,files,ports,read,delete (required)",
    },
    expires: { type: "string", value: "TIME", help: "when it ends (1h)" },
  },
  async run({ client, operands: [room = ""], options, json }) {
    const scope = (options.scope as string[] | undefined)?.flatMap((each) => each.split(",")) as Scope[] | undefined;
    if (!scope) throw new UsageError("--scope: expected what the token is for, such as --scope exec,attach,read");
    const expires = durationOf(options.expires, "expires");
    const made = await client.room(room).token({ scope, ...(expires !== undefined && { expiresIn: expires / 1000 }) });
    await (json ? printJson(made) : print(made.token));
    return 0;
  },
};
