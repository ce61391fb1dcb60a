// The core inside workerd beside URL + JSON.parse + zod: microseconds a decision, the median of rounds that take turns.

import { bundle, serving } from "./workerd.mjs";

const OUT = "dist/bench";
const ORIGIN = "http://127.0.0.1:8798";
const ROUNDS = 9;

const config = `
  services = [(name = "bench", worker = (
    modules = [${bundle("tests/worker/bench/bench.ts", OUT)}],
    compatibilityDate = "2026-10-01"))],
  sockets = [(name = "http", address = "${new URL(ORIGIN).host}", http = (), service = "bench")]`;

const get = async (by, body, n) => {
  const began = performance.now();
  const response = await fetch(`${ORIGIN}/?by=${by}&body=${body}&n=${n}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return { answer, us: ((performance.now() - began) * 1000) / Math.max(n, 1) };
};
const median = (values) => values.sort((a, b) => a - b)[values.length >> 1];

await serving(OUT, config, ORIGIN, async () => {
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
});
