const PREFIX = "sandbox-";

/** A room's sandbox by name, as its object is found: `sandbox_name` of wasm/protocol/sandbox_name.h. */
export const sandboxOf = (room: string) => PREFIX + room;

/** The id of the room that a sandbox is of. */
export const roomOf = (sandbox: string) => sandbox.slice(PREFIX.length);
