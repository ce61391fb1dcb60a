import { RoomboxError } from "./errors.ts";
import type { Call, Http } from "./http.ts";
import { filePath } from "./paths.ts";
import type { Abortable, Bytes, FileEntry } from "./types.ts";

/** A path is absolute; bytes where its name is no UTF-8. */
export type FilePath = string | Uint8Array;

export type FileBody = string | ArrayBuffer | Bytes | Blob | ReadableStream<Uint8Array>;

export interface WriteOptions extends Abortable {
  /** Bytes of a stream, if that is known: it passes faster. */
  size?: number | undefined;
  /** Only if the file is as this ETag of `stat` or `write` has it; else it is a 412. */
  ifMatch?: string | undefined;
  /** Only where there is none; else it is a 412. */
  ifAbsent?: boolean | undefined;
}

/** What was written. */
export interface Written {
  path: string;
  size: number;
  etag: string;
}

export interface FileInfo {
  type: "file" | "directory";
  /** Bytes of a file. */
  size?: number;
  etag?: string;
  modifiedAt?: Date;
}

/** The files of a room, with the rights of its commands. */
export class Files {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, roomPath: string) {
    this.#http = http;
    this.#path = `${roomPath}/sandbox/files`;
  }

  /** Bytes of a file as they come; a stream that ends without an error is whole. */
  stream(path: FilePath, options: Abortable = {}): Promise<ReadableStream<Uint8Array>> {
    return this.#readFile(path, async ({ body }) => body ?? new Blob([]).stream(), options);
  }

  async read(path: FilePath, options: Abortable = {}): Promise<Bytes> {
    return this.#readFile(path, async (response) => new Uint8Array(await response.arrayBuffer()), options);
  }

  text(path: FilePath, options: Abortable = {}): Promise<string> {
    return this.#readFile(path, (response) => response.text(), options);
  }

  /** Makes or replaces a file once the whole body is there. Its directory must exist. */
  async write(
    path: FilePath,
    body: FileBody,
    { size, ifMatch, ifAbsent, signal }: WriteOptions = {},
  ): Promise<Written> {
    const headers: Record<string, string> = {
      ...(size !== undefined && { "content-length": `${size}` }),
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
      ...(ifAbsent && { "if-none-match": "*" }),
    };
    const call: Call = { method: "PUT", path: this.#of(path), body: body as BodyInit, headers, signal };
    // A second try would find what the first has made.
    if (ifMatch !== undefined || ifAbsent) call.repeatable = false;
    return this.#http.send(call, async (response) => {
      const written = (await response.json()) as Omit<Written, "etag">;
      return { ...written, etag: response.headers.get("etag") ?? "" };
    });
  }

  async list(path: FilePath, options: Abortable = {}): Promise<FileEntry[]> {
    const listing = await this.#read(path, (response) => directoryOf(response, path), options);
    return listing.entries;
  }

  /** Makes a directory and those above it. */
  async mkdir(path: FilePath, { signal }: Abortable = {}): Promise<void> {
    await this.#http.json({ method: "PUT", path: this.#of(path), query: { mkdir: true }, signal });
  }

  /** Removes a file, a link or an empty directory; with `recursive` any directory. */
  async remove(path: FilePath, { recursive, signal }: Abortable & { recursive?: boolean } = {}): Promise<void> {
    const call = { method: "DELETE", path: this.#of(path), query: { recursive }, signal };
    await this.#http.send(call, async (response) => response.body?.cancel());
  }

  /** What is there; 404 where nothing is. */
  stat(path: FilePath, { signal }: Abortable = {}): Promise<FileInfo> {
    return this.#http.send({ method: "HEAD", path: this.#of(path), signal }, async ({ headers }) => {
      if (isListing(headers)) return { type: "directory" };
      const etag = headers.get("etag");
      const modified = headers.get("last-modified");
      return {
        type: "file",
        size: Number(headers.get("content-length")),
        ...(etag !== null && { etag }),
        ...(modified !== null && { modifiedAt: new Date(modified) }),
      };
    });
  }

  #of(path: FilePath): string {
    return `${this.#path}/${filePath(path)}`;
  }

  /** Of a file; of a directory the API tells its listing, which is no bytes of anything. */
  #readFile<T>(path: FilePath, read: (response: Response) => Promise<T>, options: Abortable): Promise<T> {
    const ofFile = async (response: Response) => {
      if (!isListing(response.headers)) return read(response);
      await response.body?.cancel();
      throw otherKind(`path: expected a file, ${path} is a directory`);
    };
    return this.#read(path, ofFile, options);
  }

  #read<T>(path: FilePath, read: (response: Response) => Promise<T>, { signal }: Abortable): Promise<T> {
    return this.#http.send({ method: "GET", path: this.#of(path), signal }, read);
  }
}

/** As the server says it where it knows what is expected: not to be taken for a line that broke, and tried again. */
const otherKind = (message: string) => new RoomboxError(message, "conflict", { status: 409 });

const isListing = (headers: Headers) => headers.get("content-type")?.startsWith("application/json") === true;

async function directoryOf(response: Response, path: FilePath): Promise<{ entries: FileEntry[] }> {
  if (isListing(response.headers)) return response.json();
  await response.body?.cancel();
  throw otherKind(`path: expected a directory, ${path} is a file`);
}
