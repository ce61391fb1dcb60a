// What the core's benchmark says of it as a native program. Prints rows (rows.ts).

import { spawnSync } from "node:child_process";
import { figureOf, isQuick, print, roundsOf } from "./rows.ts";

const PROGRAM = "build/native/tests/edge/edge_bench";
const SECONDS = isQuick() ? 0.01 : 0.1;

interface Repetition {
  run_name: string;
  run_type: "iteration" | "aggregate";
  cpu_time: number;
  time_unit: "ns" | "us" | "ms";
}

const options = [
  `--benchmark_repetitions=${roundsOf(9)}`,
  `--benchmark_min_time=${SECONDS}`,
  "--benchmark_format=json",
];
const { status, stdout, stderr } = spawnSync(PROGRAM, options, { encoding: "utf8", maxBuffer: 1 << 26 });
if (status !== 0) throw new Error(stderr);
const { benchmarks } = JSON.parse(stdout) as { benchmarks: Repetition[] };
const rounds = benchmarks.filter(({ run_type, time_unit }) => run_type === "iteration" && time_unit === "ns");
for (const [name, all] of Map.groupBy(rounds, ({ run_name }) => run_name)) {
  const figures = { ours: figureOf(all.map(({ cpu_time }) => cpu_time / 1000)) };
  print({
    section: "edge",
    name: `the core natively: ${name.replaceAll("_", " ")}`,
    unit: "us",
    better: "less",
    figures,
  });
}
