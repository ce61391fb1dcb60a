// What a credential costs: the real worker in plain workerd answers the same call (400, by the core alone) to callers who
// take turns. Microseconds as one client sees them over loopback, and how many more than where nobody needs a credential.

import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { importJWK, SignJWT } from "jose";
import { bindings, bundle, serving } from "./workerd.mjs";

const OUT = "dist/bench-credentials";
const FIRST_PORT = 8801;
/** Callers take turns so often, with so many calls each time: one call after another, as to a worker that is in use. */
const ROUNDS = Number(process.env.ROUNDS ?? 100);
const WARM_UP = 10;
const CALLS = 100;
/** How much longer than without may a call take that brings a token, in microseconds at the median. */
const BOUND_US = 150;

const API_KEY = randomBytes(32).toString("base64");
const SECRET = randomBytes(32).toString("base64");
const pair = generateKeyPairSync("ed25519");
const secrets = { API_KEY, TOKEN_KEY: SECRET, TOKEN_KEY_ED: JSON.stringify(pair.publicKey.export({ format: "jwk" })) };

const hmac = new TextEncoder().encode(SECRET);
const ed = await importJWK(pair.privateKey.export({ format: "jwk" }), "EdDSA");
const token = (header, key, jti) =>
  new SignJWT({ room: "room-123", scope: ["exec", "read"], jti })
    .setProtectedHeader(header)
    .setExpirationTime("1h")
    .sign(key);
const hs256 = (call) => token({ alg: "HS256" }, hmac, call);
const edDsa = (call) => token({ alg: "EdDSA", kid: "ed" }, ed, call);
const seen = await hs256("seen");

/** Each with its credential of the nth call, and a worker of its own: so all are as warm. */
const CALLERS = [
  { name: "open", credential: () => undefined },
  { name: "API key", credential: () => API_KEY },
  { name: "token, seen before", credential: () => seen },
  { name: "token, first seen (HS256)", credential: hs256 },
  { name: "token, first seen (EdDSA)", credential: edDsa },
].map((caller, i) => ({ ...caller, port: FIRST_PORT + i, times: [] }));

const modules = bundle("worker/index.ts", OUT);
const service = ({ name, port }) => `(name = "${port}", worker = (
    modules = [${modules}],
    compatibilityDate = "2026-10-01",
    compatibilityFlags = ["enable_request_signal", "request_signal_passthrough"],
    bindings = ${bindings(name === "open" ? { AUTH_MODE: "open" } : secrets)}))`;
const socket = ({ port }) => `(name = "${port}", address = "127.0.0.1:${port}", http = (), service = "${port}")`;
const config = `services = [${CALLERS.map(service)}], sockets = [${CALLERS.map(socket)}]`;

const BODY = '{"cmd":""}';
function requestOf(port, credential) {
  const lines = [
    "POST /api/rooms/room-123/sandbox/exec HTTP/1.1",
    `Host: localhost:${port}`,
    "Content-Type: application/json",
    `Content-Length: ${BODY.length}`,
  ];
  if (credential) lines.push(`Authorization: Bearer ${credential}`);
  return `${lines.join("\r\n")}\r\n\r\n${BODY}`;
}

/** A connection that waits for each answer; fetch takes longer than what is measured, and less evenly. */
async function connected(port) {
  const stream = connect({ port, host: "127.0.0.1", noDelay: true });
  await once(stream, "connect");
  return async (request) => {
    const began = performance.now();
    stream.write(request);
    let answer = "";
    while (!answer.endsWith("}")) answer += (await once(stream, "data"))[0];
    const us = (performance.now() - began) * 1000;
    if (!answer.startsWith("HTTP/1.1 400 ") || !answer.includes("Command cannot be empty")) throw new Error(answer);
    return us;
  };
}

const quantile = (sorted, q) => sorted[Math.min(Math.floor(sorted.length * q), sorted.length - 1)];

/** What no worker can do without: the median time that a signature of Ed25519 takes by OpenSSL, in microseconds. */
function signatureAlone() {
  const message = randomBytes(150);
  const signature = sign(null, message, pair.privateKey);
  const times = [];
  for (let i = 0; i < 1000; i++) {
    const began = performance.now();
    verify(null, message, pair.publicKey, signature);
    times.push((performance.now() - began) * 1000);
  }
  return quantile(
    times.sort((a, b) => a - b),
    0.5,
  );
}

function shuffled(all) {
  const order = [...all];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

async function measure() {
  const calls = new Map();
  for (const caller of CALLERS) calls.set(caller, await connected(caller.port));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const caller of shuffled(CALLERS)) {
      const requests = [];
      for (let i = 0; i < CALLS; i++) requests.push(requestOf(caller.port, await caller.credential(`${round} ${i}`)));
      for (const request of requests) {
        const us = await calls.get(caller)(request);
        if (round >= 0) caller.times.push(us);
      }
    }
  }
}

function print() {
  const figures = CALLERS.map(({ name, times }) => {
    times.sort((a, b) => a - b);
    return { name, p50: quantile(times, 0.5), p99: quantile(times, 0.99) };
  });
  const [open] = figures;
  console.log("credential                  / open   p50 µs   p99 µs   − open µs");
  for (const { name, p50, p99 } of figures) {
    const more = p50 - open.p50;
    const cells = [(p50 / open.p50).toFixed(2), p50.toFixed(0), p99.toFixed(0), more.toFixed(0)];
    console.log(`${name.padEnd(27)} ${cells.map((cell, i) => cell.padStart([6, 8, 8, 11][i] ?? 0)).join(" ")}`);
    if (more > BOUND_US) console.log(`  that is more than ${BOUND_US} µs: too much`);
  }
}

await serving(OUT, config, `http://localhost:${FIRST_PORT}/health`, measure);
print();
console.log(`An EdDSA signature alone takes ${signatureAlone().toFixed(0)} µs to verify.`);
