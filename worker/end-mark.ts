/** Request header: what comes after the last byte of the body, `kEndHeader` of wasm/protocol/agent_api.h. */
const END_HEADER = "roombox-end";

/**
 * The body of a request, so that the agent sees whether it is whole. With a declared length it is as it came. Without one, its
 * end alone says nothing: where a sender gives up, workerd ends the coding in chunks as if all had been sent.
 */
export function withEndMark(request: Request, headers: Headers): ReadableStream | null {
  const { body, signal } = request;
  if (!body || request.headers.has("content-length")) return body;
  const mark = crypto.randomUUID();
  headers.set(END_HEADER, mark);
  const end: Transformer<Uint8Array, Uint8Array> = {
    async flush(controller) {
      await scheduler.wait(0); // a client's leaving may be seen right after its body's end
      signal.throwIfAborted();
      controller.enqueue(new TextEncoder().encode(mark));
    },
  };
  return body.pipeThrough(new TransformStream(end));
}
