/** The sandbox's own: no server of the room. */
export const OWN_PORT = 8080;
/** A socket's state that listens, TCP_LISTEN. */
const LISTENS = "0A";

/** The ports of a listing of the kernel's (proc(5)): local address, in hexadecimal, and state are the second and fourth word. */
export function listening(listing: string): number[] {
  const words = listing.split("\n").map((line) => line.trim().split(/\s+/));
  const ports = words
    .filter(([, , , state]) => state === LISTENS)
    .map(([, local]) => Number.parseInt(local?.split(":").at(-1) ?? "", 16));
  return [...new Set(ports)].filter((port) => port !== OWN_PORT && port > 0);
}
