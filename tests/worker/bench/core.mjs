// The core inside workerd beside URL + JSON.parse + zod: the time of a decision, in rounds that take turns. Prints rows
// (tests/bench/rows.ts).

import { figuresOf, isQuick, print, roundsOf, shuffled } from "../../bench/rows.ts";
import { bundle, freePorts, serving, single } from "./workerd.mjs";

const OUT = "dist/bench-core";
const [PORT] = await freePorts(1);
const ORIGIN = `http://127.0.0.1:${PORT}`;
const ROUNDS = roundsOf(9);
const WARM_UP = isQuick() ? 0 : 1;
const QUICK_SHARE = 0.1;

/** Bodies of core.ts, how often a round decides on each, and how much of zod's time may be ours. */
const CASES = [
  { body: "exec", name: "valid, 100 B", times: 50_000, goals: [{ to: "zod", atMost: 1 }] },
  { body: "invalid", name: "an empty command", times: 50_000, goals: [{ to: "zod", atMost: 1 }] },
  { body: "10k", name: "valid, 10 KB", times: 2000, goals: [] },
  { body: "100k", name: "valid, 100 KB", times: 200, goals: [{ to: "zod", atMost: 3 }] },
  { body: "1m", name: "valid, 1 MB", times: 20, goals: [] },
];

const config = single(bundle("tests/worker/bench/core.ts", OUT), PORT);

/** Has one decide so often. @returns what came out, and the microseconds of one decision */
async function decide(by, body, times) {
  const began = performance.now();
  const response = await fetch(`${ORIGIN}/?by=${by}&body=${body}&n=${times}`);
  const answer = await response.text();
  if (!response.ok) throw new Error(answer);
  return { answer, us: ((performance.now() - began) * 1000) / times };
}

async function measure(body, times) {
  const rounds = { ours: [], zod: [] };
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const answers = new Set();
    for (const by of shuffled(Object.keys(rounds))) {
      const { answer, us } = await decide(by, body, times);
      answers.add(answer);
      if (round >= 0) rounds[by].push(us);
    }
    if (answers.size > 1) throw new Error(`the core and zod differ on ${body}: ${[...answers]}`);
  }
  return figuresOf(rounds);
}

await serving(OUT, config, ORIGIN, async () => {
  for (const { body, name, times, goals } of CASES) {
    const figures = await measure(body, isQuick() ? times * QUICK_SHARE : times);
    print({ section: "edge", name: `the core alone: ${name}`, unit: "us", better: "less", figures, goals });
  }
});
