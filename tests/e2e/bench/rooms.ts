import { execFileSync } from "node:child_process";
import type { WranglerDev } from "../wrangler.ts";

// What the benchmarks of the whole chain share.

export const docker = (...args: string[]) => execFileSync("docker", args, { encoding: "utf8" }).trim();

/** Names of the running containers of a `wrangler dev`'s class. */
export function containersOf(name: string, kind: string): string[] {
  const names = docker("ps", "--format", "{{.Names}}").split("\n");
  return names.filter((each) => each.includes(`-${name}-${kind}-`));
}

/** Makes a call. Throws unless its status is that. @returns the body */
export async function call(url: string, init: RequestInit = {}, status = 200): Promise<string> {
  const reply = await fetch(url, init);
  const body = await reply.text();
  if (reply.status !== status)
    throw new Error(`${init.method ?? "GET"} ${url}: ${reply.status} ${body.slice(0, 1000)}`);
  return body;
}

/** The rooms of a `wrangler dev` of ours. */
export class Rooms {
  readonly #origin: string;

  constructor({ origin }: WranglerDev) {
    this.#origin = origin;
  }

  url(id: string, rest = ""): string {
    return `${this.#origin}/api/rooms/${id}${rest}`;
  }

  /** @param body of an exec call @returns what it answers */
  exec(id: string, body: object, status = 200): Promise<string> {
    const headers = { "content-type": "application/json" };
    return call(this.url(id, "/sandbox/exec"), { method: "POST", headers, body: JSON.stringify(body) }, status);
  }

  /** Runs a command, which must succeed. @returns the id of its execution, and what it wrote */
  async run(id: string, cmd = "true"): Promise<{ id: string; stdout: string }> {
    const body = await this.exec(id, { cmd });
    const { result } = JSON.parse(body);
    if (result.exitCode !== 0) throw new Error(body);
    return result;
  }

  sleep(id: string): Promise<string> {
    return call(this.url(id, "/sleep"), { method: "POST" });
  }

  delete(id: string): Promise<string> {
    return call(this.url(id), { method: "DELETE" });
  }
}

/** How long it takes, in milliseconds. */
export async function msOf(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
