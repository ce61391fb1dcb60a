// The core inside workerd beside URL + JSON.parse + zod: microseconds a decision, the median of rounds that take turns.

import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const out = resolve("dist/bench"); // wrangler takes a relative one from its configuration
const PORT = 8798;
const ROUNDS = 9;

mkdirSync(out, { recursive: true });
const bundled = spawnSync(
  "wrangler",
  ["deploy", "--dry-run", "--config", "tests/worker/bench/wrangler.toml", "--outdir", out],
  {
    encoding: "utf8",
  },
);
if (bundled.status !== 0) throw new Error(bundled.stdout + bundled.stderr);
const wasm = readdirSync(out).find((name) => name.endsWith(".wasm"));
writeFileSync(
  join(out, "workerd.capnp"),
  `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "bench", worker = (
    modules = [(name = "bench.js", esModule = embed "bench.js"), (name = "${wasm}", wasm = embed "${wasm}")],
    compatibilityDate = "2026-10-01"))],
  sockets = [(name = "http", address = "127.0.0.1:${PORT}", http = (), service = "bench")]);
`,
);

const server = spawn("workerd", ["serve", join(out, "workerd.capnp")], { stdio: "inherit" });
const get = async (by, body, n) => {
  const began = performance.now();
  const response = await fetch(`http://127.0.0.1:${PORT}/?by=${by}&body=${body}&n=${n}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return { answer, us: ((performance.now() - began) * 1000) / Math.max(n, 1) };
};
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

try {
  while (server.exitCode === null && !(await get("core", "exec", 0).catch(() => false)));
  console.log("body       answer             core µs    zod µs   core/zod");
  for (const [body, n] of [
    ["exec", 50_000],
    ["invalid", 50_000],
    ["10k", 2000],
    ["100k", 200],
    ["1m", 20],
  ]) {
    const times = { core: [], zod: [] };
    let answer = "";
    for (let round = -1; round < ROUNDS; round++) {
      for (const by of ["core", "zod"]) {
        const result = await get(by, body, n);
        if (round >= 0) times[by].push(result.us);
        if (answer && result.answer !== answer) throw new Error(`core and zod differ on ${body}`);
        answer = result.answer;
      }
      answer = round === ROUNDS - 1 ? answer : "";
    }
    const [core, zod] = [median(times.core), median(times.zod)];
    console.log(
      `${body.padEnd(10)} ${answer.padEnd(17)} ${core.toFixed(2).padStart(8)} ${zod.toFixed(2).padStart(9)} ${(core / zod).toFixed(2).padStart(10)}`,
    );
  }
} finally {
  server.kill("SIGTERM");
}
