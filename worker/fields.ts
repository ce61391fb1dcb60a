import { type Bytes, concat } from "./bytes";

// What core, object and agent tell each other of an execution or a room: fields, each `name size\n` and so many bytes,
// one directly after another (wasm/protocol/record.h). Of several of one name the last counts, unless it repeats by nature.

const NEWLINE = 0x0a;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export type Field = [name: string, value: string | number | Uint8Array];

export function writeFields(...fields: Field[]): Bytes {
  return concat(
    ...fields.flatMap(([name, value]) => {
      const bytes = value instanceof Uint8Array ? value : encoder.encode(`${value}`);
      return [encoder.encode(`${name} ${bytes.byteLength}\n`), bytes];
    }),
  );
}

/** The fields in order, as views of the bytes. Throws on what is not fields. */
export function* readFields(bytes: Uint8Array): Generator<[name: string, value: Uint8Array]> {
  for (let at = 0; at < bytes.byteLength; ) {
    const end = bytes.indexOf(NEWLINE, at);
    const [, name, size] = /^(\w+) (\d+)$/.exec(decoder.decode(bytes.subarray(at, Math.max(end, at)))) ?? [];
    const next = end + 1 + Number(size);
    if (name === undefined || next > bytes.byteLength) throw new Error("these bytes are not fields");
    yield [name, bytes.subarray(end + 1, next)];
    at = next;
  }
}

/** The field's last value as text. */
export function fieldOf(bytes: Uint8Array, name: string): string | undefined {
  let found: Uint8Array | undefined;
  for (const [each, value] of readFields(bytes)) if (each === name) found = value;
  return found && decoder.decode(found);
}
