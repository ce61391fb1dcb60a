// What a credential costs: the real worker in plain workerd answers the same call (400, by the core alone) to callers who
// take turns: as one client sees it over loopback, and how much more than where nobody needs a credential. Prints rows
// (tests/bench/rows.ts).

import { generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { importJWK, SignJWT } from "jose";
import { figuresOf, isQuick, print, quantile, roundsOf, shuffled } from "../../bench/rows.ts";
import { bindings, bundle, DATE, FLAGS, freePorts, serving } from "./workerd.mjs";

const OUT = "dist/bench-credentials";
/** Callers take turns so often, with so many calls each time: one call after another, as to a worker that is in use. */
const ROUNDS = roundsOf(50);
const WARM_UP = isQuick() ? 1 : 10;
const CALLS = 100;
const OPEN = "no credential";
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
const CREDENTIALS = [
  { name: OPEN, credential: () => undefined },
  { name: "an API key", credential: () => API_KEY },
  { name: "a token seen before", credential: () => seen },
  { name: "a new token (HS256)", credential: hs256 },
  { name: "a new token (EdDSA)", credential: edDsa, beside: { "its signature by OpenSSL": [signatureAlone()] } },
];
const ports = await freePorts(CREDENTIALS.length);
const CALLERS = CREDENTIALS.map((caller, i) => ({ ...caller, port: ports[i], times: [] }));

const modules = bundle("worker/index.ts", OUT);
const service = ({ name, port }) => `(name = "${port}", worker = (
    modules = [${modules}],
    ${DATE}, ${FLAGS},
    bindings = ${bindings(name === OPEN ? { AUTH_MODE: "open" } : secrets)}))`;
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
  return quantile(times, 0.5);
}

async function measure() {
  const calls = new Map();
  for (const caller of CALLERS) calls.set(caller, await connected(caller.port));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const caller of shuffled(CALLERS)) {
      const requests = [];
      for (let i = 0; i < CALLS; i++) requests.push(requestOf(caller.port, await caller.credential(`${round} ${i}`)));
      const times = [];
      for (const request of requests) times.push(await calls.get(caller)(request));
      if (round >= 0) caller.times.push(quantile(times, 0.5));
    }
  }
}

function printRows() {
  const open = CALLERS.find(({ name }) => name === OPEN);
  const common = { section: "edge", unit: "us", better: "less" };
  for (const { name, times, beside = {} } of CALLERS) {
    if (name === OPEN) continue;
    print({ ...common, name: `a call with ${name}, p50`, figures: figuresOf({ ours: times, open: open.times }) });
    const more = times.map((us, round) => us - open.times[round]);
    const figures = figuresOf({ ours: more, ...beside });
    print({ ...common, name: `what ${name} adds`, figures, goals: [{ atMost: BOUND_US }] });
  }
}

await serving(OUT, config, `http://localhost:${ports[0]}/health`, measure);
printRows();
