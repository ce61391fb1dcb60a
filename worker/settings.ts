const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** A count among wrangler.toml's `vars`. Throws on anything else. */
export function countOf(name: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`wrangler.toml: ${name} is "${text}"; it should be a whole number`);
  return Number(text);
}

/** A duration among wrangler.toml's `vars`, in milliseconds: a number and its unit, or 0. Throws on anything else. */
export function durationOf(name: string, text: string): number {
  if (text === "0") return 0;
  const [, number, unit = ""] = /^(\d+)(ms|s|m|h)$/.exec(text) ?? [];
  if (number === undefined) {
    throw new Error(`wrangler.toml: ${name} is "${text}"; it should be a number with ms, s, m or h, as in "10m", or 0`);
  }
  return Number(number) * (UNITS[unit] ?? 0);
}
