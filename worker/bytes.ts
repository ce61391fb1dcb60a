export type Bytes = Uint8Array<ArrayBuffer>;

export async function bytesOf(body: Body): Promise<Bytes> {
  return new Uint8Array(await body.arrayBuffer());
}

/** The parts, one after another, in memory of their own. */
export function concat(...parts: Uint8Array[]): Bytes {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}
