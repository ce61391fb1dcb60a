// Serves a worker by plain workerd: `wrangler dev` takes milliseconds of its own for each call.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative, resolve } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";

const ours = readConfig({ config: "wrangler.toml" });
/** What of the platform's behaviour our worker is made for, as workerd's configuration has it. */
export const DATE = `compatibilityDate = "${ours.compatibility_date}"`;
export const FLAGS = `compatibilityFlags = ${JSON.stringify(ours.compatibility_flags)}`;

/** A binding of a text, in workerd's configuration. */
const text = ([name, value]) => `(name = "${name}", text = ${JSON.stringify(value)})`;

/**
 * @param others that are no texts, as workerd's configuration has them
 * @returns the bindings of a worker: the vars of wrangler.toml, and texts beside them or in their place
 */
export function bindings(texts, others = []) {
  const all = [...Object.entries({ ...ours.vars, ...texts }).map(text), ...others];
  return `[${all.join(", ")}]`;
}

/** @returns a configuration of one worker, which listens at a port */
export const single = (modules, port) => `
  services = [(name = "bench", worker = (modules = [${modules}], ${DATE}))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "bench")]`;

/**
 * Bundles a worker as a deployment would.
 *
 * @param main its file
 * @param out the directory that gets the bundle, emptied before
 * @param home the directory of workerd's configuration
 * @returns the modules of a worker in that configuration
 */
export function bundle(main, out, home = out) {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  const config = ["--config", "tests/worker/bench/wrangler.toml"];
  // wrangler takes relative paths from its configuration
  const options = [...config, "--dry-run", "--outdir", resolve(out)];
  const bundled = spawnSync("wrangler", ["deploy", resolve(main), ...options], { encoding: "utf8" });
  if (bundled.status !== 0) throw new Error(bundled.stdout + bundled.stderr);
  const embedded = (name) => `embed "${join(relative(home, out), name)}"`;
  const script = (name) => `(name = "${name}", esModule = ${embedded(name)})`;
  const wasm = (name) => `(name = "${name}", wasm = ${embedded(name)})`;
  const names = readdirSync(out);
  const modules = names.filter((name) => name.endsWith(".js")).map(script);
  return [...modules, ...names.filter((name) => name.endsWith(".wasm")).map(wasm)].join(", ");
}

/** Ports of 127.0.0.1 that nobody listens on: other runs may go on beside this one. */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

/**
 * Serves a configuration while `work` goes on.
 *
 * @param out the directory that has what it embeds
 * @param body of the configuration, without its first line
 * @param origin answers once it is served
 */
export async function serving(out, body, origin, work) {
  const file = join(out, "workerd.capnp");
  writeFileSync(file, `using Workerd = import "/workerd/workerd.capnp";\nconst config :Workerd.Config = (${body});\n`);
  const stdio = ["ignore", "ignore", "inherit"]; // stdout is the worker's log, a line for each call
  const server = spawn("workerd", ["serve", file], { stdio });
  const ended = once(server, "exit");
  try {
    while (server.exitCode === null && !(await fetch(origin).catch(() => false)));
    if (server.exitCode !== null) throw new Error(`workerd ended with ${server.exitCode}`);
    return await work();
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
}
