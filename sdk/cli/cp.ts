import { randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { ReadableStream as WebStream } from "node:stream/web";
import { type FileEntry, type Files, RoomboxError } from "../index.ts";
import { type Command, type Context, FAILED, placeOf, UsageError } from "./command.ts";
import { Progress, plain, printJson, tell, write } from "./output.ts";

export const cp: Command = {
  name: "cp",
  operands: "FROM TO",
  count: [2, 2],
  summary: "copy to or from a room; - is stdin or stdout",
  notes: [
    "One of FROM and TO is ROOM:/PATH, the other a path here.",
    "Where TO is a directory that is there, the copy in it keeps its name.",
  ],
  options: { recursive: { type: "boolean", short: "r", help: "a directory with all that is in it" } },
  run,
};

/** What was copied, and what could not be. */
interface Tally {
  files: number;
  bytes: number;
  skipped: string[];
}

/** One copy: between the files of a room and those here. */
interface Copy {
  files: Files;
  isRecursive: boolean;
  tally: Tally;
}

async function run({ client, operands: [from = "", to = ""], options, json }: Context): Promise<number> {
  const [source, target] = [placeOf(from), placeOf(to)];
  const place = source ?? target;
  if (!place || (source && target))
    throw new UsageError("one of FROM and TO must be ROOM:/PATH, the other a path here");
  const tally: Tally = { files: 0, bytes: 0, skipped: [] };
  const copy: Copy = { files: client.room(place.room).files, isRecursive: options.recursive === true, tally };
  if (source) await download(copy, source.path, to);
  else await upload(copy, from, place.path);
  for (const path of tally.skipped)
    await tell(`left out, as it is neither a file nor a directory here: ${plain(path)}`);
  if (json && to !== "-") await printJson(tally);
  return tally.skipped.length > 0 ? FAILED : 0;
}

// To the room.

async function upload(copy: Copy, from: string, to: string): Promise<void> {
  if (from === "-") {
    const { size } = await copy.files.write(to, streamOf(createReadStream("", { fd: 0 })));
    return count(copy, size);
  }
  const isDirectory = (await stat(from)).isDirectory();
  if (isDirectory && !copy.isRecursive) throw new UsageError(`${from} is a directory: copy it with -r`);
  const target = (await isRemoteDirectory(copy, to)) ? posix.join(to, basename(from)) : to;
  await (isDirectory ? uploadDirectory(copy, from, target) : uploadFile(copy, from, target));
}

async function uploadDirectory(copy: Copy, from: string, to: string): Promise<void> {
  await copy.files.mkdir(to);
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [here, there] = [join(from, entry.name), posix.join(to, entry.name)];
    if (entry.isDirectory()) await uploadDirectory(copy, here, there);
    else if (entry.isFile()) await uploadFile(copy, here, there);
    else copy.tally.skipped.push(here);
  }
}

async function uploadFile(copy: Copy, from: string, to: string): Promise<void> {
  // What is not a file on a disk (a pipe, /proc) has another size than it says, or one that is not known; a file may grow.
  const told = await stat(from);
  const size = told.isFile() && told.size > 0 ? told.size : undefined;
  const progress = new Progress(from, size);
  const part = size === undefined ? {} : { end: size - 1 };
  const bytes = createReadStream(from, part).on("data", (chunk) => progress.add(chunk.length));
  const made = await copy.files.write(to, streamOf(bytes), { size });
  progress.end();
  count(copy, made.size);
}

/** Not by Readable.toWeb, which waits for the other direction of a socket, too. */
const streamOf = (bytes: AsyncIterable<Uint8Array>) => WebStream.from(bytes) as ReadableStream<Uint8Array>;

async function isRemoteDirectory({ files }: Copy, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).type === "directory";
  } catch (error) {
    if (error instanceof RoomboxError && error.code === "not_found") return path.endsWith("/");
    throw error;
  }
}

// From the room.

async function download(copy: Copy, from: string, to: string): Promise<void> {
  const { type, size } = await copy.files.stat(from);
  if (to === "-") {
    if (type === "directory") throw new UsageError(`${from} is a directory: it cannot be copied to stdout`);
    for await (const chunk of await copy.files.stream(from)) await write(process.stdout, chunk);
    return;
  }
  if (type === "directory" && !copy.isRecursive) throw new UsageError(`${from} is a directory: copy it with -r`);
  const target = (await isLocalDirectory(to)) ? join(to, posix.basename(from)) : to;
  await (type === "directory" ? downloadDirectory(copy, from, target) : downloadFile(copy, from, target, size));
}

async function downloadDirectory(copy: Copy, from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await copy.files.list(from)) {
    const there = posix.join(from, entry.name);
    const here = join(to, entry.name);
    if (!isSafe(entry)) copy.tally.skipped.push(there);
    else if (entry.type === "directory") await downloadDirectory(copy, there, here);
    else await downloadFile(copy, there, here, entry.size);
  }
}

/** Of a room come files and directories alone, with names that are text and lead nowhere else. */
function isSafe({ name, nameBase64, type }: FileEntry): boolean {
  const isName = nameBase64 === undefined && !/[/\\]/.test(name) && name !== "." && name !== "..";
  return isName && (type === "file" || type === "directory");
}

/** Beside its place until it is whole. */
async function downloadFile(copy: Copy, from: string, to: string, size: number | undefined): Promise<void> {
  const progress = new Progress(from, size);
  const part = `${to}.${randomUUID().slice(0, 8)}.part`;
  let bytes = 0;
  const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      progress.add(chunk.length);
      yield chunk;
    }
  };
  try {
    const stream = await copy.files.stream(from);
    await pipeline(
      Readable.fromWeb(stream as Parameters<typeof Readable.fromWeb>[0]),
      counted,
      createWriteStream(part),
    );
    await rename(part, to);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  progress.end();
  count(copy, bytes);
}

async function isLocalDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

function count({ tally }: Copy, bytes: number): void {
  tally.files++;
  tally.bytes += bytes;
}
