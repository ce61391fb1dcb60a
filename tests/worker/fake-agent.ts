import { concat } from "../../worker/bytes";
import { writeFields } from "../../worker/fields";

/** An execution of the fake agent. */
export interface FakeExecution {
  id: string;
  body: { cmd?: string; stream?: boolean; detach?: boolean };
  status: string;
  ended: PromiseWithResolvers<void>;
  head: Uint8Array;
  output: Uint8Array;
}

const encoder = new TextEncoder();

/**
 * Speaks the agent's side of the protocol to the object, without processes: a command named `hold…` runs until `end` is called
 * or its client leaves, `refuse` is not taken, and every other one ends at once. Its output is its own text.
 */
export class FakeAgent {
  readonly executions = new Map<string, FakeExecution>();
  /** Ended and not acknowledged: what a reader of the records is sent first. */
  readonly kept = new Map<string, Uint8Array>();
  /** Ids in the order in which they were acknowledged, one array for each call. */
  readonly acknowledged: string[][] = [];
  /** Bytes by path. */
  readonly files = new Map<string, Uint8Array>();
  /** Bytes in each chunk of the records. */
  chunk = Number.POSITIVE_INFINITY;
  feeds = 0;
  /** Connections that it has beside executions. */
  connections = 0;
  #feed: ReadableStreamDefaultController<Uint8Array> | undefined;

  constructor(readonly boot = "") {}

  /** All executions that were taken, in order. */
  get all(): FakeExecution[] {
    return [...this.executions.values()];
  }

  async fetch(path: string, init: RequestInit): Promise<Response> {
    const [, area, id = "", verb = ""] = path.split(/[/?]/);
    if (area === "health") return healthy(this.boot);
    if (area === "activity") return new Response(`${this.#activity}`);
    if (area === "files") return this.#file(path.slice(path.indexOf("?") + 1), init);
    if (area === "records") return id === "stored" ? this.#stored(init) : this.#records();
    if (area !== "executions") return new Response(null, { status: 404 });
    if (id === "") return this.#run(init);
    const execution = this.executions.get(id);
    if (!execution) return new Response(null, { status: 404 });
    if (verb === "") return new Response(frameOf(execution));
    if (execution.status !== "running") return new Response(null, { status: 409 });
    if (verb === "kill") this.end(id, "cancelled");
    return Response.json({ verb, id });
  }

  /** Lets one end. */
  end(id: string, status = "completed", output = ""): void {
    const execution = this.executions.get(id);
    if (execution?.status !== "running") return;
    execution.status = status;
    execution.head = writeFields(
      ["id", id],
      ["mode", execution.body.stream ? "stream" : execution.body.detach ? "detach" : "plain"],
      ["command", execution.body.cmd ?? ""],
      ["status", status],
      ["exit_code", 0],
      ["started_ms", Date.now()],
      ["finished_ms", Date.now()],
      ["duration_ms", 0],
    );
    execution.output = writeFields(["stdout", output || (execution.body.cmd ?? "")]);
    this.kept.set(id, frameOf(execution));
    this.#send(frameOf(execution));
    execution.ended.resolve();
  }

  get #activity(): number {
    return this.connections + this.all.filter(({ status }) => status === "running").length;
  }

  breakFeed(): void {
    this.#feed?.error(new Error("Network connection lost."));
    this.#feed = undefined;
  }

  /** Its reader is gone, with the object that it was of. */
  loseReader(): void {
    this.#feed = undefined;
  }

  closeFeed(): void {
    this.#feed?.close();
    this.#feed = undefined;
  }

  /** A file is kept once its body is whole, which a mark at its end may tell. */
  async #file(path: string, { method, body, headers }: RequestInit): Promise<Response> {
    if (method === "PUT") {
      const sent = body ? new Uint8Array(await new Response(body).arrayBuffer()) : new Uint8Array();
      const mark = new Headers(headers).get("roombox-end") ?? "";
      const bytes = sent.slice(0, sent.byteLength - mark.length);
      if (new TextDecoder().decode(sent.slice(bytes.byteLength)) !== mark) return new Response(null, { status: 400 });
      this.files.set(path, bytes);
      return Response.json({ path, size: bytes.byteLength }, { status: 201 });
    }
    const bytes = this.files.get(path);
    if (!bytes) return new Response(null, { status: 404 });
    if (method === "DELETE") return new Response(null, { status: this.files.delete(path) ? 204 : 404 });
    const range = /^bytes=(\d+)-(\d+)$/.exec(new Headers(headers).get("range") ?? "");
    const part = range ? bytes.slice(Number(range[1]), Number(range[2]) + 1) : bytes;
    return new Response(method === "HEAD" ? null : part, { status: range ? 206 : 200, headers: { etag: '"tag"' } });
  }

  async #run({ headers, body, signal }: RequestInit): Promise<Response> {
    const id = new Headers(headers).get("roombox-execution") ?? "";
    const asked = JSON.parse(new TextDecoder().decode(body as Uint8Array));
    asked.cmd ??= asked.command; // in the other dialect
    if (asked.cmd === "refuse") return Response.json({ error: "no more" }, { status: 503 });
    const execution: FakeExecution = {
      id,
      body: asked,
      status: "running",
      ended: Promise.withResolvers(),
      head: writeFields(["id", id], ["status", "running"]),
      output: writeFields(["stdout", "so far"]),
    };
    this.executions.set(id, execution);
    if (!asked.cmd.startsWith("hold")) this.end(id, asked.cmd === "fail" ? "failed" : "completed");
    if (!asked.detach) signal?.addEventListener("abort", () => this.end(id, "cancelled"));
    return this.#reply(execution);
  }

  async #reply({ id, body, ended }: FakeExecution): Promise<Response> {
    const headers = { "roombox-execution": id };
    if (body.detach) return Response.json({ id }, { status: 202, headers });
    if (body.stream) {
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          controller.enqueue(encoder.encode("event: start\n\n"));
          if (body.cmd === "hold, then break") setTimeout(() => controller.error(new Error("broken")), 0);
          if (body.cmd === "hold, then break inside") {
            controller.enqueue(encoder.encode("event: std"));
            setTimeout(() => controller.error(new Error("broken")), 0);
          }
          ended.promise.then(() => {
            if (this.executions.get(id)?.status === "cancelled") return; // nobody reads any more
            controller.enqueue(encoder.encode("event: exit\n\n"));
            controller.close();
          });
        },
        cancel: () => this.end(id, "cancelled"),
      });
      return new Response(stream, { headers: { ...headers, "content-type": "text/event-stream" } });
    }
    await ended.promise;
    return Response.json({ id }, { status: body.cmd === "fail" ? 400 : 200, headers });
  }

  #records(): Response {
    this.feeds++;
    this.#feed?.close();
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#feed = controller;
        for (const frame of this.kept.values()) this.#send(frame);
      },
      cancel: () => {
        this.#feed = undefined;
      },
    });
    return new Response(stream);
  }

  #stored({ body }: RequestInit): Response {
    const ids = String(body).trim().split("\n");
    this.acknowledged.push(ids);
    for (const id of ids) {
      this.kept.delete(id);
      this.executions.delete(id);
    }
    if (this.executions.size === 0) this.closeFeed();
    return new Response();
  }

  #send(frame: Uint8Array): void {
    for (let at = 0; at < frame.byteLength; at += this.chunk) {
      this.#feed?.enqueue(frame.slice(at, Math.min(at + this.chunk, frame.byteLength)));
    }
  }
}

/** What a knock at the agent of a boot is answered. */
export const healthy = (boot: string) => new Response("ok", { headers: { "roombox-boot": boot } });

export function frameOf({ id, status, head, output }: Pick<FakeExecution, "id" | "status" | "head" | "output">) {
  const line = `${id} ${status} ${head.byteLength} ${output.byteLength}\n`;
  return concat(encoder.encode(line), head, output);
}
