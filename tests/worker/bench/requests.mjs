// The calls that the workers of the benchmark get, as bytes of HTTP.

const EXEC = "/api/rooms/room-123/sandbox/exec";

function requestOf({ method = "POST", path = EXEC, body = "", declared = Buffer.byteLength(body) }) {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", "Content-Type: application/json"];
  if (method !== "GET") lines.push(`Content-Length: ${declared}`);
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A body of so many bytes, or a line's less, most of them one command. */
function bodyOf(bytes, fields, line = "x") {
  const bare = JSON.stringify({ cmd: "", ...fields });
  const quoted = Buffer.byteLength(JSON.stringify(line)) - 2;
  return JSON.stringify({ cmd: line.repeat((bytes - bare.length) / quoted), ...fields });
}

/** Of bodies. Larger ones take so long that fewer tell as much. */
export const SIZES = [
  { size: "100 B", bytes: 100, requests: 400 },
  { size: "1 KB", bytes: 1000, requests: 400 },
  { size: "10 KB", bytes: 10_000, requests: 300 },
  { size: "100 KB", bytes: 100_000, requests: 200 },
  { size: "500 KB", bytes: 500_000, requests: 100 },
];

const FIELDS = { cwd: "/workspace", timeout_ms: 30_000, env: { A: "1" } };

/** Calls that get to the room. */
export const VALID = SIZES.map(({ size, bytes, requests }) => ({
  name: `valid, ${size}`,
  bytes,
  requests,
  request: requestOf({ body: bodyOf(bytes, FIELDS) }),
}));

/** Likewise, but of what is not read as fast as one letter again and again: escapes, and characters of several bytes. */
export const SCRIPTS = [
  { name: "valid, 100 KB of lines", line: "npm run build && npm test\n" },
  { name: "valid, 100 KB of Japanese", line: "実行環境" },
].map(({ name, line }) => ({
  name,
  bytes: 100_000,
  requests: 200,
  request: requestOf({ body: bodyOf(100_000, FIELDS, line) }),
}));

/** The same with a field of the wrong type behind the command. */
export const INVALID = SIZES.map(({ size, bytes, requests }) => ({
  name: `a wrong type, ${size}`,
  bytes,
  requests,
  request: requestOf({ body: bodyOf(bytes, { ...FIELDS, timeout_ms: "soon" }) }),
}));

/** Calls that are refused for something small. */
export const REFUSED = [
  { name: "no JSON", body: '{"cmd":"true"' },
  { name: "an empty command", body: '{"cmd":""}' },
  { name: "an unknown field", body: '{"cmd":"true","timeoutMs":1000}' },
  { name: "a bad room id", path: "/api/rooms/-a/sandbox/exec", body: '{"cmd":"true"}' },
  { name: "an unknown path (404)", path: "/api/rooms/room-123/sandbox/run", body: '{"cmd":"true"}' },
  { name: "a wrong method (405)", method: "GET" },
  // Only announced: with a body that nobody reads the connection is closed, and so it is made anew for each.
  { name: "too large (413)", declared: (4 << 20) + 1, fresh: true },
].map(({ name, fresh = false, ...call }) => ({ name, fresh, bytes: 0, requests: 400, request: requestOf(call) }));
