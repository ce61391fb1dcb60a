// The calls that the workers of the benchmark get, as bytes of HTTP.

const EXEC = "/api/rooms/room-123/sandbox/exec";

function requestOf({ method = "POST", path = EXEC, body = "", declared = body.length }) {
  const lines = [`${method} ${path} HTTP/1.1`, "Host: localhost", "Content-Type: application/json"];
  if (method !== "GET") lines.push(`Content-Length: ${declared}`);
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A body of so many bytes, most of them one command. */
function bodyOf(bytes, fields) {
  const bare = JSON.stringify({ cmd: "", ...fields });
  return JSON.stringify({ cmd: "x".repeat(bytes - bare.length), ...fields });
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
