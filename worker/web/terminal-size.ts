export interface Size {
  cols: number;
  rows: number;
}

/** Others say how large the terminal is to be, so it stays usable whatever they say. */
const COLS = [20, 400] as const;
const ROWS = [5, 200] as const;

const within = (value: number, [least, most]: readonly [number, number]) => Math.min(Math.max(value, least), most);

/** As pages tell each other. */
export const formatSize = ({ cols, rows }: Size) => `${cols}x${rows}`;

export function sizeIn(text: string): Size | undefined {
  const [, cols, rows] = /^(\d{1,4})x(\d{1,4})$/.exec(text) ?? [];
  if (cols === undefined || rows === undefined) return undefined;
  return { cols: within(Number(cols), COLS), rows: within(Number(rows), ROWS) };
}
