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

/** A place that commands may reach: a host's name, or `*.` and the name of those below it; without a port, those of HTTP and HTTPS. */
export interface AllowedHost {
  host: string;
  port: string;
}

/** Letters, digits, hyphens and underscores between dots (RFC 1123); not what a URL takes for an address, as `10.1` or `0x7f.1`. */
const HOST =
  /^(?=.{1,255}$)(\*\.)?([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*(?!\d+$|0x[\da-f]*$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/** Hosts among wrangler.toml's `vars`, with blanks between them. Throws on anything else. */
export function hostsOf(name: string, text: string): AllowedHost[] {
  const entries = text.toLowerCase().split(/\s+/).filter(Boolean);
  return entries.map((entry) => {
    const [, host = "", port = ""] = /^([^:]*)(?::([1-9]\d{0,4}))?$/.exec(entry) ?? [];
    if (HOST.test(host) && Number(port) <= 65_535) return { host, port };
    const form = 'a name as in "registry.example", "*.registry.example" or "registry.example:8443"';
    throw new Error(`wrangler.toml: ${name} has "${entry}"; it should be ${form}`);
  });
}
