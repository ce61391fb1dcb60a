const NEWLINE = 0x0a;

/**
 * Passes a stream of events on as it comes. Where its source breaks off, the last event is told instead, unless that would
 * complete one of which only a part has come: then it breaks off too.
 */
export function withLastEvent(events: ReadableStream<Uint8Array>, last: () => Promise<Uint8Array>): ReadableStream {
  const reader = events.getReader();
  let newlines = 2; // at the end of what was passed on; two of them end an event
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          newlines = trailingNewlines(value, newlines);
          controller.enqueue(value);
        } catch (error) {
          if (newlines < 2) return controller.error(error);
          controller.enqueue(await last());
          controller.close();
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function trailingNewlines(bytes: Uint8Array, before: number): number {
  let count = 0;
  while (count < Math.min(bytes.byteLength, 2) && bytes[bytes.byteLength - 1 - count] === NEWLINE) count++;
  return count === bytes.byteLength ? Math.min(before + count, 2) : count;
}
