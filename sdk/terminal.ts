import type { Attachment } from "./attachment.ts";
import type { Room } from "./room.ts";
import type { Abortable } from "./types.ts";

export interface TerminalOptions extends Abortable {
  /** What runs in it; absent: the shell of the room's user. */
  cmd?: string | undefined;
  cols?: number | undefined;
  rows?: number | undefined;
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
  /** Kill it so long after the last client has left; absent: never. */
  maxRunAfterDisconnectMs?: number | undefined;
}

const SHELL = 'exec "$SHELL"';

/** Starts a terminal and attaches to it. By its id one can come back to it: `room.execution(id).attach()`. */
export async function openTerminal(room: Room, options: TerminalOptions): Promise<Attachment> {
  const { cmd = SHELL, cols = 80, rows = 24, ...rest } = options;
  const execution = await room.start(cmd, { ...rest, pty: { cols, rows } });
  return execution.attach({ signal: options.signal });
}
