import type { Attachment } from "./attachment.ts";
import { RoomboxError } from "./errors.ts";
import type { ExecEvent } from "./events.ts";
import type { Execution } from "./execution.ts";
import type { Abortable, DataOf, OutputKind } from "./types.ts";

/** What came before any output: the start. */
export const FIRST = 1;

/** Events of an execution that was just started, from its first byte on, by a WebSocket that is replaced where it breaks. */
export async function* attachedEvents<Kind extends OutputKind>(
  execution: Execution<Kind>,
  output: Kind | undefined,
  { signal }: Abortable,
): AsyncGenerator<ExecEvent<DataOf<Kind>>, void> {
  const attachment = await execution.attach({ after: FIRST, signal });
  const decoders = { stdout: decoder(output), stderr: decoder(output) };
  let sequence = FIRST;
  try {
    for await (const { stream, data } of attachment) {
      sequence += data.length;
      const decoded = decoders[stream](data);
      if (decoded.length > 0) yield { type: stream, sequence, data: decoded as DataOf<Kind> };
    }
    for (const stream of ["stdout", "stderr"] as const) {
      const rest = decoders[stream]();
      if (rest.length > 0) yield { type: stream, sequence, data: rest as DataOf<Kind> };
    }
    yield await endOf(execution, attachment, sequence + 1, { signal });
  } catch (error) {
    if (!(error instanceof RoomboxError && error.code === "execution_failed")) throw error;
    yield { type: "error", sequence: sequence + 1, error };
  } finally {
    attachment.close();
  }
}

async function endOf<Kind extends OutputKind>(
  execution: Execution<Kind>,
  attachment: Attachment,
  sequence: number,
  options: Abortable,
): Promise<ExecEvent<DataOf<Kind>>> {
  await attachment.exit;
  return { type: "exit", sequence, result: await execution.record(options) };
}

/** Makes of bytes what the caller wants: text of whole characters, the rest of the last one when there are no more. */
function decoder(output: OutputKind | undefined): (data?: Uint8Array) => string | Uint8Array {
  if (output === "bytes") return (data = new Uint8Array()) => data;
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  return (data) => text.decode(data, { stream: data !== undefined });
}
