// How long the core takes to come up inside workerd: its instance and its first decision, of a worker that has answered
// before. Prints a row (tests/bench/rows.ts).

import { figureOf, isQuick, print } from "../../bench/rows.ts";
import { bundle, freePorts, serving, single } from "./workerd.mjs";

const OUT = "dist/bench-core";
const [PORT] = await freePorts(1);
const ORIGIN = `http://127.0.0.1:${PORT}`;
/** A start for each: it happens once in a worker's life. */
const STARTS = isQuick() ? 2 : 9;

const config = single(bundle("tests/worker/bench/core.ts", OUT), PORT);

async function ms(decisions) {
  const began = performance.now();
  await (await fetch(`${ORIGIN}/?by=core&body=exec&n=${decisions}`)).text();
  return performance.now() - began;
}

/** What the first decision takes longer than a call without one. */
async function startUp() {
  for (let i = 0; i < 5; i++) await ms(0);
  const without = [];
  for (let i = 0; i < 5; i++) without.push(await ms(0));
  return (await ms(1)) - figureOf(without).median;
}

const starts = [];
for (let i = 0; i < STARTS; i++) starts.push(await serving(OUT, config, ORIGIN, startUp));
print({
  section: "memory",
  name: "the core's instance and first decision",
  unit: "ms",
  better: "less",
  figures: { ours: figureOf(starts) },
});
