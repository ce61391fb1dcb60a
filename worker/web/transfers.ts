import type { FilePath } from "../../sdk/index.ts";
import { button, byId, make } from "./dom.ts";
import { reason } from "./format.ts";
import { shown } from "./paths.ts";
import { openRoom } from "./session.ts";

/** A line for each file that is on its way, with how far it is. */
class Transfer {
  readonly left = new AbortController();
  #isOver = false;
  readonly #line: HTMLElement;
  readonly #bar = make("progress", { max: "1" });

  constructor(what: string) {
    this.#bar.setAttribute("aria-label", what);
    const stop = button(`Stop: ${what}`, () => this.#stop(), { sign: "✕", kind: "sign" });
    this.#line = make("li", {}, make("span", {}, what), this.#bar, stop);
    byId("transfers").append(this.#line);
  }

  tell(part: number): void {
    this.#bar.value = part;
  }

  end(): void {
    this.#line.remove();
  }

  /** What has failed is told until it is put away. */
  #stop(): void {
    this.left.abort();
    if (this.#isOver) this.end();
  }

  failed(error: unknown): void {
    this.#isOver = true;
    if (this.left.signal.aborted) this.end();
    else this.#bar.replaceWith(make("span", { class: "fault" }, reason(error)));
  }
}

async function transfer(what: string, work: (of: Transfer) => Promise<void>): Promise<void> {
  const line = new Transfer(what);
  try {
    await work(line);
    line.end();
  } catch (error) {
    line.failed(error);
  }
}

/** Writes a file that the reader has chosen, in place of one that is there. */
export function upload(file: File, path: FilePath): Promise<void> {
  return transfer(`Uploading ${file.name}`, async (line) => {
    const room = openRoom(sendingFetch((part) => line.tell(part)));
    await room.files.write(path, file, { signal: line.left.signal });
  });
}

/** Reads a file to where the browser saves what is downloaded: a link could bring no credential. */
export function download(path: FilePath): Promise<void> {
  const name = shown(path).split("/").at(-1) || "file";
  return transfer(`Downloading ${name}`, async (line) => {
    const { signal } = line.left;
    const room = openRoom();
    const { size = 0 } = await room.files.stat(path, { signal });
    const stream = await room.files.stream(path, { signal });
    const blob = await new Response(
      stream.pipeThrough(counted((read) => line.tell(size > 0 ? read / size : 1))),
    ).blob();
    const url = URL.createObjectURL(blob);
    make("a", { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url)); // the click has been taken by then
  });
}

function counted(tell: (read: number) => void): TransformStream<Uint8Array, Uint8Array<ArrayBuffer>> {
  let read = 0;
  return new TransformStream({
    transform(piece, controller) {
      read += piece.length;
      tell(read);
      controller.enqueue(piece as Uint8Array<ArrayBuffer>);
    },
  });
}

/** A `fetch` that tells what part of the body is sent, which that of the platform does not. For answers that are short, and have a body. */
function sendingFetch(tell: (part: number) => void): typeof globalThis.fetch {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(init.method ?? "GET", `${input}`);
      for (const [name, value] of new Headers(init.headers)) request.setRequestHeader(name, value);
      request.upload.addEventListener("progress", ({ loaded, total }) => tell(total > 0 ? loaded / total : 1));
      request.addEventListener("load", () => resolve(responseOf(request)));
      request.addEventListener("error", () => reject(new TypeError("the connection broke")));
      request.addEventListener("abort", () => reject(init.signal?.reason));
      init.signal?.addEventListener("abort", () => request.abort());
      request.send(init.body as XMLHttpRequestBodyInit);
    });
}

function responseOf(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().trim().split("\r\n");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return new Response(request.responseText, { status: request.status, headers });
}
