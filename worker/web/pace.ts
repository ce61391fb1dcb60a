/** So many pages look as often as they like; of more each looks less often, so that all together leave the room's calls to its people. */
const FREE = 8;

/** By how much longer a page waits before it looks anew. */
export const slowdown = (pages: number) => Math.max(1, pages / FREE);
