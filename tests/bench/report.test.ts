import { describe, expect, it } from "vitest";
import { growthChart, ratioChart } from "./charts.ts";
import type { Run } from "./machine.ts";
import { figureOf, parseRows, type Row, ratio, verdicts } from "./rows.ts";
import { reportOf } from "./table.ts";

const run: Run = {
  date: "2026-11-30T12:00:00.000Z",
  cpu: "a processor",
  cores: 2,
  memory: "4.0 GiB",
  kernel: "6.1",
  load: "0.1 0.2 0.3",
  versions: { zod: "4.0.0" },
};
const figure = (median: number) => ({ median, low: median, high: median });
const row = (more: Partial<Row> = {}): Row => ({
  section: "edge",
  name: "a call",
  unit: "us",
  better: "less",
  figures: { ours: figure(90), zod: figure(100) },
  ...more,
});
const point = (x: number) =>
  row({ section: "growth", series: "a command, by records", x, figures: { ours: figure(x) } });

describe("rows", () => {
  it("takes quartiles over rounds", () => {
    expect(figureOf([5, 1, 4, 2, 3])).toEqual({ median: 3, low: 2, high: 4 });
  });

  it("reads lines of JSON among others", () => {
    expect(parseRows(`a line for people\n${JSON.stringify(row())}\n`)).toEqual([row()]);
  });

  it.each([
    ["of no section", { section: "nothing" as "edge" }, /no section is named nothing/],
    ["without ours", { figures: { zod: figure(1) } }, /without a figure of ours/],
    ["without a number", { figures: { ours: figure(Number.NaN) } }, /no number/],
    ["of growth without a place", { section: "growth" as const }, /no series or no x/],
  ])("refuses a row %s", (_, more, error) => {
    expect(() => parseRows(JSON.stringify(row(more)))).toThrow(error);
  });

  it.each([
    ["a contender is beaten", { to: "zod", atMost: 0.9 }, true],
    ["it is nearly beaten", { to: "zod", atMost: 0.89 }, false],
    ["a rate is reached", { to: "zod", atLeast: 0.9 }, true],
    ["it is missed", { to: "zod", atLeast: 0.91 }, false],
    ["a figure alone is within its bound", { atMost: 90 }, true],
    ["it is beyond it", { atMost: 89 }, false],
  ])("judges a goal where %s", (_, goal, met) => {
    expect(verdicts(row({ goals: [goal] })).map((verdict) => verdict.met)).toEqual([met]);
  });

  it("judges a difference, which may be negative", () => {
    const goals = [{ atMost: 30 }];
    expect(verdicts(row({ figures: { ours: figure(-76) }, goals })).map(({ met }) => met)).toEqual([true]);
  });

  it("judges no goal about a contender who is not there", () => {
    expect(verdicts(row({ goals: [{ to: "ttyd", atMost: 1 }] }))).toEqual([]);
    expect(ratio(row(), "ttyd")).toBeUndefined();
  });
});

describe("the report", () => {
  const edge = { run, rows: [row({ goals: [{ to: "zod", atMost: 0.5 }, { atMost: 100 }] })] };

  it("leads with ratios and tells which goals are met", () => {
    const text = reportOf({ edge }, () => ["edge.svg"]);
    expect(text).toContain("1 of 2 are met.");
    expect(text).toContain("| a call | us | 90.0 | **0.90** 100 | ≤ 0.5 × zod: **missed**, 0.90; ≤ 100 us: met |");
    expect(text).toContain("](edge.svg)");
  });

  it("tells where it was measured once, or of each section where that differs", () => {
    const later = { ...run, date: "2026-12-01T12:00:00.000Z" };
    const places = (text: string) => text.match(/a processor/g)?.length;
    expect(places(reportOf({ edge, path: { run, rows: [row()] } }, () => []))).toBe(1);
    expect(places(reportOf({ edge, path: { run: later, rows: [row()] } }, () => []))).toBe(2);
  });

  it("has a table for each series of growth", () => {
    const text = reportOf({ growth: { run, rows: [point(10), point(100_000)] } }, () => []);
    expect(text).toContain("### a command, by records");
    expect(text).toContain("| records | unit | ours | goal |");
    expect(text).toContain("| 100,000 | us |");
  });
});

describe("charts", () => {
  it("are SVG with labels, and colours for dark pages", async () => {
    const svg = await ratioChart([row()]);
    expect(svg).toMatch(/^<svg/);
    expect(svg).toContain("prefers-color-scheme:dark");
    expect(svg).toContain("a call");
  });

  it("of ratios are none where ours is alone", async () => {
    expect(await ratioChart([row({ figures: { ours: figure(1) } })])).toBeUndefined();
  });

  it("of growth name the axes", async () => {
    const svg = await growthChart([point(10), point(1000)]);
    expect(svg).toContain("records");
    expect(svg).toContain(">us<");
  });
});
