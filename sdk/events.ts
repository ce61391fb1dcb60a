import { bytesOfBase64 } from "./base64.ts";
import { ConnectionError, type ErrorBody, errorOf, RoomboxError } from "./errors.ts";
import { reasonOf } from "./http.ts";
import { type SseMessage, SseParser } from "./sse.ts";
import { backoff, pause } from "./time.ts";
import type { DataOf, ExecResult, OutputKind } from "./types.ts";

/** What happens to an execution. The last event is `exit`, or `error` where its sandbox died under it. */
export type ExecEvent<Data = string> =
  | { type: "start"; sequence: number; id: string; sandboxName: string }
  | { type: "stdout" | "stderr"; sequence: number; data: Data }
  | { type: "exit"; sequence: number; result: ExecResult<Data> }
  | { type: "error"; sequence: number; error: RoomboxError };

/** Output as JSON has it, as the caller wants it. */
export type Decode<Data> = (text: string) => Data;
export function decoderOf<Kind extends OutputKind>(kind: Kind | undefined): Decode<DataOf<Kind>> {
  return (kind === "bytes" ? bytesOfBase64 : (text: string) => text) as Decode<DataOf<Kind>>;
}

export function decodeResult<Data>(result: ExecResult, decode: Decode<Data>): ExecResult<Data> {
  return { ...result, stdout: decode(result.stdout), stderr: decode(result.stderr) };
}

/** The event of a message; none where this client does not know it. */
export function eventOf<Data>({ event, id, data }: SseMessage, decode: Decode<Data>): ExecEvent<Data> | undefined {
  const sequence = Number(id);
  const body = JSON.parse(data);
  switch (event) {
    case "start":
      return { type: event, sequence, id: body.id, sandboxName: body.sandboxName };
    case "stdout":
    case "stderr":
      return { type: event, sequence, data: decode(body.data) };
    case "exit":
      return { type: event, sequence, result: decodeResult<Data>(body.result, decode) };
    case "error":
      return { type: event, sequence, error: errorOf(body as ErrorBody, { status: 500 }) };
    default:
      return undefined;
  }
}

export const isLast = (event: ExecEvent<unknown>): boolean => event.type === "exit" || event.type === "error";

/** Events of one response, as they come. Who leaves the iteration hangs up. */
export async function* readEvents<Data>(
  body: ReadableStream<Uint8Array>,
  decode: Decode<Data>,
  onBytes: () => void = () => {},
): AsyncGenerator<ExecEvent<Data>, void> {
  const parser = new SseParser();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      onBytes();
      for (const message of parser.push(value)) {
        const event = eventOf(message, decode);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // a line that has broken cannot be hung up
  }
}

export interface Resuming<Data> {
  /** Asks for the events after an id; null where nothing follows. */
  open(after: number | undefined): Promise<ReadableStream<Uint8Array> | null>;
  decode: Decode<Data>;
  signal: AbortSignal | undefined;
  /** How often in a row a line may break that has brought nothing. */
  retries: number;
  /** Begin after this event. */
  after?: number | undefined;
}

/** Events to the last of them, over as many lines as that takes: each goes on exactly where the one before broke. */
export async function* resumingEvents<Data>(from: Resuming<Data>): AsyncGenerator<ExecEvent<Data>, void> {
  let { after } = from;
  let silent = 0;
  for (;;) {
    const body = await from.open(after);
    if (!body) return;
    let broke: unknown = new Error("it ended before the command did");
    const heard = () => {
      silent = 0;
    };
    try {
      for await (const event of readEvents(body, from.decode, heard)) {
        after = event.sequence;
        yield event;
        if (isLast(event)) return;
      }
    } catch (error) {
      if (error instanceof RoomboxError || error instanceof SyntaxError) throw error;
      broke = error;
    }
    from.signal?.throwIfAborted();
    if (++silent > from.retries) throw new ConnectionError(`the stream of events broke: ${reasonOf(broke)}`, broke);
    await pause(backoff(silent), from.signal);
  }
}
