import { type Bytes, bytesOf, concat } from "./bytes";

/**
 * Reads a request's body, at most `limit` bytes of it and one more, which shows that there are more.
 * A declared length has been checked against the limit before; without one, the stream is cut.
 */
export async function readBody(request: Request, limit: number): Promise<Bytes> {
  if (request.headers.has("content-length")) return bytesOf(request); // without making a stream of it
  if (request.body === null) return new Uint8Array();

  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = request.body.getReader();
  while (size <= limit) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    size += value.byteLength;
  }
  if (size > limit) await reader.cancel();

  return concat(...chunks).subarray(0, limit + 1);
}
