import type { ExecEvent } from "./events.ts";
import type { Room, StreamOptions } from "./room.ts";
import type { DataOf, ExecResult, OutputKind, RunOptions } from "./types.ts";

/** Options of a command in a shell, which keeps directory and variables itself. */
export type InShell<Options> = Omit<Options, "cwd" | "env" | "shell">;

/** A bash of a room that keeps directory, variables and functions from command to command. One runs at a time. */
export class Shell {
  readonly name: string;
  readonly #room: Room;

  constructor(room: Room, name: string) {
    this.#room = room;
    this.name = name;
  }

  /** Runs a command in it; `shellExited` of the result says whether the next one gets a fresh shell. */
  run<Kind extends OutputKind = "text">(
    cmd: string,
    options: InShell<RunOptions<Kind>> = {},
  ): Promise<ExecResult<DataOf<Kind>>> {
    return this.#room.exec(cmd, { ...options, shell: this.name } as RunOptions<Kind>);
  }

  /** As `Room.stream`. */
  stream<Kind extends OutputKind = "text">(
    cmd: string,
    options: InShell<StreamOptions<Kind>> = {},
  ): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
    return this.#room.stream(cmd, { ...options, shell: this.name } as StreamOptions<Kind>);
  }

  /** Ends it, behind what runs in it. */
  async close(): Promise<void> {
    await this.run("exit 0");
  }
}
