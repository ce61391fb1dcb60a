// Writes the report of what the benchmarks printed (rows.ts), for scripts/bench:
//   node tests/bench/report.ts <lines> <directory> <section…>
// The directory gets results.json, results.md and charts. Of sections that are not named it keeps what it has.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { growthChart, ratioChart } from "./charts.ts";
import { thisRun } from "./machine.ts";
import { parseRows, type Row, SECTIONS, type Section } from "./rows.ts";
import { type Results, reportOf } from "./table.ts";

const [lines = "", directory = "", ...named] = process.argv.slice(2);
const wanted = SECTIONS.filter((section) => named.includes(section));
const rows = parseRows(readFileSync(lines, "utf8"));
const run = thisRun(process.env.LOAD_BEFORE ?? "unknown");

const file = join(directory, "results.json");
const before: Results = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
const results: Results = {};
for (const section of SECTIONS) {
  const measured = wanted.includes(section) ? measuredNow(section) : before[section];
  if (measured) results[section] = measured;
}

function measuredNow(section: Section): { run: typeof run; rows: Row[] } {
  const own = rows.filter((row) => row.section === section);
  if (own.length === 0) throw new Error(`no benchmark printed a row for ${section}`);
  return { run, rows: own };
}

mkdirSync(directory, { recursive: true });
const drawn = new Set<Section>();
for (const [section, { rows }] of Object.entries(results) as [Section, { rows: Row[] }][]) {
  const svg = await (section === "growth" ? growthChart(rows) : ratioChart(rows));
  rmSync(join(directory, `${section}.svg`), { force: true });
  if (svg === undefined) continue;
  writeFileSync(join(directory, `${section}.svg`), svg);
  drawn.add(section);
}
writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
writeFileSync(
  join(directory, "results.md"),
  reportOf(results, (section) => (drawn.has(section) ? [`${section}.svg`] : [])),
);
