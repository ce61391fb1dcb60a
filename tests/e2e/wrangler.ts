import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    origin: string;
  }
}

export const NAME = process.env.ROOMBOX_NAME ?? "roombox-e2e";

/** A `wrangler dev` of its own: the worker in workerd, sandboxes in containers of the engine at hand. */
export class WranglerDev {
  readonly origin: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  private constructor(port: number, child: ChildProcess, ended: Promise<unknown>) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#child = child;
    this.#ended = ended;
  }

  /** Without credentials. @param options those of `wrangler dev` beside its address */
  static start(name: string, ...options: string[]): Promise<WranglerDev> {
    return WranglerDev.startWith(name, "--var", "AUTH_MODE:open", ...options);
  }

  static async startWith(name: string, ...options: string[]): Promise<WranglerDev> {
    const port = await freePort();
    const address = ["--name", name, "--ip", "127.0.0.1", "--port", `${port}`];
    const child = spawn("npm", ["run", "dev", "--", ...address, ...options], {
      env: { ...process.env, CI: "true" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true, // a process group of its own, so that npm's child gets the signal too
    });
    const ended = once(child, "exit");
    let log = "";
    const ready = new Promise<void>((resolve) => {
      const read = (chunk: Buffer) => {
        log += chunk;
        if (/Ready on/.test(log)) resolve();
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
    });
    await Promise.race([
      ready,
      ended.then(() => {
        throw new Error(`wrangler dev ended before it was ready:\n${log}`);
      }),
    ]);
    return new WranglerDev(port, child, ended);
  }

  /** Calls back with all that it writes from now on. */
  onLog(callback: (text: string) => void): void {
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on("data", (chunk) => callback(`${chunk}`));
  }

  /** Ends it as Ctrl-C does. */
  async stop(): Promise<void> {
    this.#signal("SIGINT");
    await this.#ended;
  }

  /** Ends it as a crash does: it cleans up nothing. */
  async kill(): Promise<void> {
    this.#signal("SIGKILL");
    await this.#ended;
  }

  #signal(name: NodeJS.Signals): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid && exitCode === null && signalCode === null) process.kill(-pid, name);
  }
}

/** Runs one for all tests. */
export default async function wranglerDev(project: TestProject): Promise<() => Promise<void>> {
  const dev = await WranglerDev.start(NAME);
  project.provide("origin", dev.origin);
  return () => dev.stop();
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
