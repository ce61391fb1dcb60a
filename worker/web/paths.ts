import { bytesOfBase64 } from "../../sdk/base64.ts";
import type { FileEntry, FilePath } from "../../sdk/index.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The path of what a directory has: as bytes from where a name is no UTF-8. */
export function pathIn(directory: FilePath, { name, nameBase64 }: Pick<FileEntry, "name" | "nameBase64">): FilePath {
  if (typeof directory === "string" && nameBase64 === undefined) return `${directory.replace(/\/$/, "")}/${name}`;
  const above = typeof directory === "string" ? encoder.encode(directory.replace(/\/$/, "")) : directory;
  const last = nameBase64 === undefined ? encoder.encode(name) : bytesOfBase64(nameBase64);
  return Uint8Array.from([...above, "/".charCodeAt(0), ...last]);
}

/** A path as it is shown; two that are shown alike may be two. */
export const shown = (path: FilePath) => (typeof path === "string" ? path : decoder.decode(path));

/** What two paths have in common only if they are one. */
export const keyOf = (path: FilePath) => (typeof path === "string" ? path : `bytes ${path.join()}`);
