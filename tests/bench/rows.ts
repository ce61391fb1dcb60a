// What the benchmarks say to each other: every one prints lines of JSON on stdout, a line for each row of the report.

/** The parts of the report, in their order. */
export const SECTIONS = ["edge", "agent", "path", "memory", "growth"] as const;
export type Section = (typeof SECTIONS)[number];

/** Of the rounds of a run. */
export interface Figure {
  median: number;
  /** The lower and the upper quartile. */
  low: number;
  high: number;
}

/** What ours, divided by another's figure or as it stands, must be at most or at least. */
export interface Goal {
  /** Whose figure ours is divided by; without it the goal is in the row's unit. */
  to?: string;
  atMost?: number;
  atLeast?: number;
}

export interface Row {
  section: Section;
  name: string;
  unit: string;
  better: "less" | "more";
  /** By contender; one that cannot do this is absent. */
  figures: Record<string, Figure>;
  goals?: Goal[];
  /** Of growth: the chart that it is a point of, named as in "a command, by records", and its place there. */
  series?: string;
  x?: number;
}

/** The name of the contender that all are about. */
export const OURS = "ours";
/** In a series that must not grow, the figure of its first point stands beside each. */
export const FIRST = "first";

/** The value below which that share of all lies. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

/** @param rounds a figure of each round */
export function figureOf(rounds: number[]): Figure {
  return { median: quantile(rounds, 0.5), low: quantile(rounds, 0.25), high: quantile(rounds, 0.75) };
}

/** @param rounds those of each contender; one without any is left out */
export function figuresOf(rounds: Record<string, number[]>): Record<string, Figure> {
  const measured = Object.entries(rounds).filter(([, values]) => values.length > 0);
  return Object.fromEntries(measured.map(([name, values]) => [name, figureOf(values)]));
}

/** Prints a row for who collects them. */
export function print(row: Row): void {
  console.log(JSON.stringify(row));
}

/** Rows of what the benchmarks printed. Other lines are for people. */
export function parseRows(text: string): Row[] {
  const rows = text.split("\n").filter((line) => line.startsWith("{"));
  return rows.map((line) => checked(JSON.parse(line)));
}

function checked(row: Row): Row {
  const wrong = (what: string) => new Error(`${what}: ${JSON.stringify(row)}`);
  if (!SECTIONS.includes(row.section)) throw wrong(`no section is named ${row.section}`);
  if (!row.figures?.[OURS]) throw wrong("a row without a figure of ours");
  for (const figure of Object.values(row.figures)) {
    const { low, median, high } = figure;
    if (![low, median, high].every(Number.isFinite)) throw wrong("a figure that is no number");
  }
  if (row.section === "growth" && (row.series === undefined || row.x === undefined)) throw wrong("no series or no x");
  return row;
}

/** Ours divided by another's figure; nothing where that one has none. */
export function ratio(row: Row, to: string): number | undefined {
  const [ours, other] = [row.figures[OURS], row.figures[to]];
  return ours && other && other.median !== 0 ? ours.median / other.median : undefined;
}

export interface Verdict {
  goal: Goal;
  /** What the goal is about. */
  value: number;
  met: boolean;
}

/** Which of a row's goals are met. Those that are about a contender who is not there are not judged. */
export function verdicts(row: Row): Verdict[] {
  return (row.goals ?? []).flatMap((goal) => {
    const value = goal.to === undefined ? row.figures[OURS]?.median : ratio(row, goal.to);
    if (value === undefined) return [];
    const met =
      value <= (goal.atMost ?? Number.POSITIVE_INFINITY) && value >= (goal.atLeast ?? Number.NEGATIVE_INFINITY);
    return [{ goal, value, met }];
  });
}

/** What a series shows, and by what it grows. */
export function axesOf(series = ""): { what: string; by: string } {
  const [, what = series, by = "how many"] = /^(.+), by (.+)$/.exec(series) ?? [];
  return { what, by };
}

/** Contenders of rows, ours first. */
export function contendersOf(rows: Row[]): string[] {
  return [...new Set([OURS, ...rows.flatMap(({ figures }) => Object.keys(figures))])];
}

/** How many rounds a benchmark takes: ROUNDS, else a few where QUICK says that all must only be seen to work. */
export function roundsOf(usual: number): number {
  return Number(process.env.ROUNDS || (isQuick() ? 1 : usual));
}
export const isQuick = () => process.env.QUICK === "1";

/** In another order each time: what one leaves behind is the next one's. */
export function shuffled<T>(all: T[]): T[] {
  const order = [...all];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [order[i], order[j]] = [order[j] as T, order[i] as T];
  }
  return order;
}
