/** A part of a path as a URL has it. `.` and `..` cannot be one: whatever sends a URL takes them out of it. */
export function segment(name: string, what: string): string {
  if (name === "" || name === "." || name === "..") {
    throw new TypeError(`${what}: expected a name, received ${JSON.stringify(name)}`);
  }
  return encodeURIComponent(name);
}

const encoder = new TextEncoder();
const UNRESERVED = /[A-Za-z0-9_~.-]/;

/** The absolute path of a file as the API has it in its URL: each byte as it is, without the leading slash. */
export function filePath(path: string | Uint8Array): string {
  const bytes = typeof path === "string" ? encoder.encode(path) : path;
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const shown = JSON.stringify(typeof path === "string" ? path : text);
  if (!text.startsWith("/"))
    throw new TypeError(`path: expected an absolute path such as /workspace/a.txt, received ${shown}`);
  const names = text.slice(1).split("/");
  if (names.includes(".") || names.includes("..")) {
    throw new TypeError(`path: "." and ".." are taken out of URLs; give the path without them, received ${shown}`);
  }
  return names.map((name) => Array.from(name, percentEncoded).join("")).join("/");
}

function percentEncoded(byte: string): string {
  return UNRESERVED.test(byte) ? byte : `%${byte.charCodeAt(0).toString(16).padStart(2, "0").toUpperCase()}`;
}
