import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { axesOf, OURS, type Row, ratio } from "./rows.ts";

// Charts as SVG that look right on light and dark pages: what is drawn in a colour of the light page has its twin for the dark one.

const INK = "#24292f";
const FAINT = "#d0d7de";
const DARK = { [INK]: "#e6edf3", [FAINT]: "#3d444d" };
/** Told apart by who sees colours otherwise too, and seen on light and dark (Okabe and Ito). */
const COLOURS = ["#2b83c6", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#999999"];
const SANS = "system-ui, sans-serif";

const LABEL_PX = 320;
const PLOT = { width: 420, height: 220 };

const config = {
  background: "transparent",
  font: SANS,
  view: { stroke: null },
  axis: {
    labelColor: INK,
    titleColor: INK,
    gridColor: FAINT,
    domainColor: FAINT,
    tickColor: FAINT,
    labelLimit: LABEL_PX,
    titleFontWeight: "normal",
  },
  legend: { labelColor: INK, titleColor: INK },
  title: { color: INK, fontWeight: "normal", anchor: "start" },
  range: { category: COLOURS },
} as const;

/** How far ours is ahead of each contender in each row, as bars; nothing where ours is alone. */
export async function ratioChart(rows: Row[]): Promise<string | undefined> {
  const bars = rows.flatMap((row) =>
    Object.keys(row.figures).flatMap((name) => {
      const times = name === OURS ? undefined : ratio(row, name);
      if (times === undefined || times <= 0) return [];
      return [{ row: row.name, beside: name, ahead: row.better === "less" ? 1 / times : times }];
    }),
  );
  if (bars.length === 0) return undefined;
  const domain = [Math.min(...bars.map(({ ahead }) => ahead), 0.5), Math.max(...bars.map(({ ahead }) => ahead), 2)];
  return svgOf({
    data: { values: bars },
    width: PLOT.width,
    height: { step: 9 },
    layer: [
      {
        mark: { type: "bar" },
        encoding: {
          y: { field: "row", type: "nominal", sort: null, axis: { title: null, grid: false, ticks: false } },
          yOffset: { field: "beside", sort: null },
          color: { field: "beside", title: "beside", sort: null },
          x: {
            field: "ahead",
            type: "quantitative",
            scale: { type: "log", domain },
            axis: { title: "ours is ahead so many times (log scale; left of 1: behind)", orient: "top", format: "~g" },
          },
          x2: { datum: 1 },
        },
      },
      { mark: { type: "rule", color: INK }, encoding: { x: { datum: 1 } } },
    ],
  } as TopLevelSpec);
}

/** Each series of growth as a chart of its own, with a line for each contender. */
export async function growthChart(rows: Row[]): Promise<string | undefined> {
  const series = [...Map.groupBy(rows, (row) => row.series)];
  if (series.length === 0) return undefined;
  return svgOf({
    concat: series.map(([name, points]) => lines(axesOf(name), points)),
    columns: 2,
    resolve: { scale: { x: "independent", y: "independent" } },
  } as TopLevelSpec);
}

function lines({ what, by }: ReturnType<typeof axesOf>, points: Row[]): object {
  const all = points.flatMap(({ x, figures }) =>
    Object.entries(figures).map(([who, figure]) => ({ x, who, ...figure })),
  );
  const values = all.filter(({ low }) => low > 0); // the others have no place on a log axis
  const log = { type: "log", nice: true };
  const x = {
    field: "x",
    type: "quantitative",
    scale: log,
    axis: { title: by, format: "~s", tickCount: 5 },
  };
  const y = (field: string) => ({
    field,
    type: "quantitative",
    scale: log,
    axis: { title: points[0]?.unit, format: "~g", tickCount: 5 },
  });
  const color = { field: "who", title: null, sort: null };
  return {
    title: what,
    ...PLOT,
    data: { values },
    layer: [
      { mark: { type: "line", point: true }, encoding: { x, y: y("median"), color } },
      { mark: { type: "rule", opacity: 0.5 }, encoding: { x, y: y("low"), y2: { field: "high" }, color } },
    ],
  };
}

async function svgOf(spec: TopLevelSpec): Promise<string> {
  const view = new View(parse(compile({ ...spec, config }).spec), { renderer: "none" });
  const svg = await view.toSVG();
  view.finalize();
  return svg.replace(/<svg[^>]*>/, (tag) => `${tag}<style>${darkStyle()}</style>`);
}

/** A page has an image's colours by its own preference, which the image can ask for. */
function darkStyle(): string {
  const rules = Object.entries(DARK).map(
    ([light, dark]) => `[fill="${light}"]{fill:${dark}}[stroke="${light}"]{stroke:${dark}}`,
  );
  return `@media (prefers-color-scheme:dark){${rules.join("")}}`;
}
