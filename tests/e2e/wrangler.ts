import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    origin: string;
  }
}

/** Runs `wrangler dev` for all tests: the worker in workerd, sandboxes in containers of the engine at hand. */
export default async function wranglerDev(project: TestProject): Promise<() => Promise<void>> {
  const port = await freePort();
  const name = process.env.ROOMBOX_NAME ?? "roombox-e2e";
  const child = spawn("npm", ["run", "dev", "--", "--name", name, "--ip", "127.0.0.1", "--port", `${port}`], {
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
  const stop = async () => {
    if (child.exitCode === null && child.pid) process.kill(-child.pid, "SIGINT");
    await ended;
  };
  await Promise.race([
    ready,
    ended.then(() => {
      throw new Error(`wrangler dev ended before it was ready:\n${log}`);
    }),
  ]);
  project.provide("origin", `http://127.0.0.1:${port}`);
  return stop;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}
