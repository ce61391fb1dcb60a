/** How an execution stands: docs/api.md tells what each means. */
export type Status = "running" | "completed" | "timeout" | "cancelled" | "failed";

/** An execution as lists have it, without its output. */
export interface ExecutionSummary {
  id: string;
  status: Status;
  /** 0 to 255; 128 + n for signal n, 124 for a timeout; null while it runs, and of one that failed. */
  exitCode: number | null;
  /** Such as `SIGKILL`. */
  signal: string | null;
  /** It ended by itself, with exit code 0. */
  success: boolean;
  /** A stream wrote more than is stored, 1 MiB. */
  truncated: boolean;
  /** It ended for want of memory. */
  oom: boolean;
  command: string;
  /** Milliseconds; null while it runs. */
  duration: number | null;
  /** When it began, as ISO 8601; likewise `finishedAt`. */
  timestamp: string;
  finishedAt: string | null;
  /** Why a failed one failed. */
  error?: string;
  /** The persistent shell that ran it, and whether that ended with it. */
  shell?: string;
  shellExited?: boolean;
}

/** An execution with its output: text, or bytes where `output: "bytes"` asked for them. */
export interface ExecResult<Data = string> extends ExecutionSummary {
  stdout: Data;
  stderr: Data;
}

export type RoomStatus = "absent" | "starting" | "running" | "asleep";

export interface RoomInfo {
  roomID: string;
  sandboxName: string;
  status: RoomStatus;
  createdAt: string | null;
  lastActiveAt: string | null;
  snapshot: { createdAt: string; bytes: number } | null;
  /** It sleeps after so much time without use; null: not by itself. */
  sleepAfterMs: number | null;
  sleepError: string | null;
}

/** What a room token is good for. */
export type Scope = "exec" | "attach" | "files" | "ports" | "read" | "delete";

export interface Deletion {
  sandboxName: string;
  /** False where there was nothing. */
  deleted: boolean;
}

export interface FileEntry {
  name: string;
  /** The name's bytes, where they are no UTF-8. */
  nameBase64?: string;
  type: "file" | "directory" | "symlink" | "other";
  size: number;
  /** Octal, such as `0644`. */
  mode: string;
  modifiedAt: string;
}

/** Bytes in memory. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** How output is told: as text, with U+FFFD for what is no UTF-8, or as it was. */
export type OutputKind = "text" | "bytes";
export type DataOf<Kind extends OutputKind> = Kind extends "bytes" ? Bytes : string;

export interface Abortable {
  /** Gives the call up: it rejects at once with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** Options of every way to run a command. */
export interface RunOptions<Kind extends OutputKind = "text"> extends Abortable {
  /** Absolute; `/workspace` if absent. */
  cwd?: string | undefined;
  env?: Record<string, string> | undefined;
  timeoutMs?: number | undefined;
  /** Fed to the command, then end of file. */
  stdin?: string | undefined;
  /** Name of the persistent shell that runs it: `Room.shell` has it. */
  shell?: string | undefined;
  output?: Kind | undefined;
  /** Calls with the same key and command run it once; one of its own if absent. */
  idempotencyKey?: string | undefined;
}

export interface StartOptions<Kind extends OutputKind = "text"> extends RunOptions<Kind> {
  /** Run it in a terminal. */
  pty?: boolean | { cols?: number; rows?: number } | undefined;
  /** Kill it so long after the last attached client has left; absent: never. */
  maxRunAfterDisconnectMs?: number | undefined;
}
