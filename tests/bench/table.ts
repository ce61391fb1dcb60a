import type { Run } from "./machine.ts";
import {
  axesOf,
  contendersOf,
  type Figure,
  OURS,
  type Row,
  ratio,
  type Section,
  type Verdict,
  verdicts,
} from "./rows.ts";

// The report as Markdown: ratios lead, times follow.

/** A section's rows, and the run that measured them. */
export interface Measured {
  run: Run;
  rows: Row[];
}
export type Results = Partial<Record<Section, Measured>>;

const TITLES: Record<Section, string> = {
  edge: "Edge: the Worker and its core",
  agent: "Agent: in the sandbox",
  path: "Path: a call from end to end",
  memory: "Memory, sizes and starts",
  growth: "Growth: what costs more as there is more",
};

/** @param charts the files of each section's charts */
export function reportOf(results: Results, charts: (section: Section) => string[]): string {
  const sections = Object.entries(results) as [Section, Measured][];
  const places = [...new Set(sections.map(([, { run }]) => placeOf(run)))];
  const parts = sections.map(([section, measured]) => {
    const place = places.length > 1 ? [placeOf(measured.run)] : []; // else it stands once, above all
    return sectionOf(section, measured.rows, [
      ...place,
      ...charts(section).map((file) => `![${TITLES[section]}](${file})`),
    ]);
  });
  return `${[HEAD, ...(places.length > 1 ? [] : places), goalsOf(results), ...parts].join("\n\n")}\n`;
}

const HEAD = `# Results

Written by \`./scripts/bench\`; [README.md](README.md) says what is measured and how to read it. **Bold** is ours divided by theirs, within the same
run: less is better for what takes or uses something, more for a rate. Figures are medians over rounds, with quartiles for ours.`;

function goalsOf(results: Results): string {
  const rows = Object.entries(results).flatMap(([section, { rows }]) => rows.map((row) => ({ section, row })));
  const judged = rows.flatMap(({ section, row }) => verdicts(row).map((verdict) => ({ section, row, verdict })));
  const missed = judged.filter(({ verdict }) => !verdict.met);
  const lines = missed.map(({ section, row, verdict }) => `| ${section}: ${row.name} | ${wordsOf(verdict, row)} |`);
  const table = missed.length > 0 ? ["", "| missed | |", "| --- | --- |", ...lines] : [];
  return [`## Goals`, "", `${judged.length - missed.length} of ${judged.length} are met.`, ...table].join("\n");
}

function sectionOf(section: Section, rows: Row[], before: string[]): string {
  const tables = section === "growth" ? growthTables(rows) : [tableOf(rows)];
  return [`## ${TITLES[section]}`, ...before, ...tables].join("\n\n");
}

function placeOf({ date, cpu, cores, memory, kernel, load, versions }: Run): string {
  const named = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const day = date.slice(0, 16).replace("T", " ");
  return `${day} UTC, ${cpu}, ${cores} cores, ${memory}, Linux ${kernel}, load before ${load}; ${named.join(", ")}.`;
}

function growthTables(rows: Row[]): string[] {
  return [...Map.groupBy(rows, ({ series }) => series)].map(([series, points]) => {
    const named = points.map((point) => ({ ...point, name: `${point.x?.toLocaleString("en")}` }));
    return `### ${series}\n\n${tableOf(named, axesOf(series).by)}`;
  });
}

function tableOf(rows: Row[], what = ""): string {
  const others = contendersOf(rows).filter((name) => name !== OURS);
  const head = [what, "unit", OURS, ...others, "goal"];
  const lines = rows.map((row) => [
    row.name,
    row.unit,
    withQuartiles(row.figures[OURS]),
    ...others.map((name) => besideOurs(row, name)),
    verdicts(row)
      .map((verdict) => wordsOf(verdict, row))
      .join("; "),
  ]);
  return [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function withQuartiles(figure: Figure | undefined): string {
  if (!figure) return "";
  const { median, low, high } = figure;
  return low === high ? digits(median) : `${digits(median)} (${digits(low)}–${digits(high)})`;
}

function besideOurs(row: Row, name: string): string {
  const figure = row.figures[name];
  if (!figure) return "";
  const times = ratio(row, name);
  return times === undefined ? digits(figure.median) : `**${digits(times)}** ${digits(figure.median)}`;
}

function wordsOf({ goal, value, met }: Verdict, { unit }: Row): string {
  const bound = goal.atMost === undefined ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
  const words = goal.to === undefined ? `${bound} ${unit}` : `${bound} × ${goal.to}`;
  return met ? `${words}: met` : `${words}: **missed**, ${digits(value)}`;
}

/** Three digits that count. */
function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en");
  return value.toFixed(size >= 10 ? 1 : 2);
}
