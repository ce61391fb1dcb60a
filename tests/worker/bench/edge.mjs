// What the edge costs by plain workerd: our worker beside one that looks at nothing, and beside the same calls and rules in
// TypeScript with Hono and zod, without and with a log. All forward to the same stand-in for a room. Prints rows (tests/bench/rows.ts).
//   npm run bench:edge            all
//   npm run bench:edge -- growth  only how the time of a valid call grows with its body

import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { figureOf, figuresOf, isQuick, print, roundsOf, shuffled } from "../../bench/rows.ts";
import { INVALID, REFUSED, SCRIPTS, VALID } from "./requests.mjs";
import { bindings, bundle, DATE, FLAGS, freePorts, serving } from "./workerd.mjs";

const OUT = "dist/bench-edge";
const LOAD = "build/native/tests/agent/bench/http_load";
const CONNECTIONS = 8;
const ROUNDS = roundsOf(9);
/** Of the requests that a case asks for one by one, so many times as many by several connections. */
const MORE_AT_ONCE = 2;
const QUICK_SHARE = 0.1;
const isGrowthOnly = process.argv[2] === "growth";

const LOGGING = "zod, logging";
const CONTENDERS = ["ours", "trivial", "zod", LOGGING];
const SERVED = [...CONTENDERS, "refusing"];
const free = await freePorts(SERVED.length);
const PORTS = Object.fromEntries(SERVED.map((name, i) => [name, free[i]]));
const STUB = (name) => `(name = "${name}", durableObjectNamespace = (className = "Stub", serviceName = "stub"))`;

const worker = (main) => ({ modules: bundle(`tests/worker/bench/${main}.ts`, `${OUT}/${main}`, OUT) });
const object = (name) => `durableObjectNamespaces = [(className = "${name}", uniqueKey = "${name}", enableSql = true)],
    durableObjectStorage = (inMemory = void)`;
const REGISTRY = '(name = "REGISTRY", durableObjectNamespace = "Registry")';
const ours = worker("ours");
const trivial = worker("trivial");
const zod = worker("typescript");
const SERVICES = [
  { name: "stub", ...worker("stub"), more: object("Stub") },
  {
    name: "ours",
    ...ours,
    more: `${FLAGS}, ${object("Registry")},
    bindings = ${bindings({ AUTH_MODE: "open" }, [STUB("SANDBOX"), REGISTRY])}`,
  },
  { name: "trivial", ...trivial, more: `bindings = [${STUB("STUB")}, (name = "REFUSES", text = "no")]` },
  { name: "refusing", ...trivial, more: `bindings = [${STUB("STUB")}, (name = "REFUSES", text = "yes")]` },
  { name: "zod", ...zod, more: `bindings = [${STUB("STUB")}, (name = "LOGS", text = "no")]` },
  { name: LOGGING, ...zod, more: `bindings = [${STUB("STUB")}, (name = "LOGS", text = "yes")]` },
];
const service = ({ name, modules, more }) => `(name = "${name}", worker = (
    modules = [${modules}], ${DATE}, ${more}))`;
const socket = ([name, port]) => `(name = "${name}", address = "127.0.0.1:${port}", http = (), service = "${name}")`;
const config = `services = [${SERVICES.map(service)}], sockets = [${Object.entries(PORTS).map(socket)}]`;

/** The answer to a request as it stands. */
async function answerTo(port, request) {
  const stream = connect({ port, host: "127.0.0.1" });
  await once(stream, "connect");
  stream.write(request);
  let text = "";
  for await (const chunk of stream) {
    text += chunk;
    const [head, body] = text.split("\r\n\r\n");
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1]);
    if (body !== undefined && Buffer.byteLength(body) >= length) break;
  }
  const [head = "", body = ""] = text.split("\r\n\r\n");
  return { status: Number(head.split(" ")[1]), body: JSON.parse(body) };
}

/** What two refusals have in common: all but the wording. */
function shapeOf({ status, body }) {
  const keys = (value) => (value ? Object.keys(value).sort() : []);
  return JSON.stringify({ status, keys: keys(body), details: keys(body.details), code: body.code });
}

/** Throws where ours and zod's answers differ in more than words. @returns their status */
async function agreedStatus({ name, request }) {
  const [one, other] = [await answerTo(PORTS.ours, request), await answerTo(PORTS.zod, request)];
  const same = one.status === 200 ? JSON.stringify(one) === JSON.stringify(other) : shapeOf(one) === shapeOf(other);
  if (!same) throw new Error(`${name}: ours ${JSON.stringify(one)}, zod ${JSON.stringify(other)}`);
  return one.status;
}

function load(port, request, ...options) {
  const run = spawnSync(LOAD, [`${port}`, ...options], { input: request, encoding: "utf8" });
  if (run.status !== 0) throw new Error(run.stderr || String(run.error));
  return JSON.parse(run.stdout);
}

/** Figures of each round, by contender. */
async function measure(test) {
  const status = await agreedStatus(test);
  const count = Math.max(Math.round(test.requests * (isQuick() ? QUICK_SHARE : 1)), 10);
  const none = () => Object.fromEntries(CONTENDERS.map((contender) => [contender, []]));
  const figures = { p50: none(), p99: none(), perSecond: none() };
  for (let round = 0; round < ROUNDS; round++) {
    for (const contender of shuffled(CONTENDERS)) {
      const refuses = contender === "trivial" && status !== 200;
      const port = PORTS[refuses ? "refusing" : contender];
      const options = [`--expect=HTTP/1.1 ${refuses ? 400 : status} `, ...(test.fresh ? ["--fresh"] : [])];
      const one = load(port, test.request, `--requests=${count}`, ...options);
      const several = test.fresh || isGrowthOnly ? {} : atOnce(port, test.request, count, options);
      for (const [kind, value] of Object.entries({ ...one, ...several })) {
        figures[kind][contender].push(value);
      }
    }
  }
  return figures;
}
const atOnce = (port, request, count, options) =>
  load(port, request, `--connections=${CONNECTIONS}`, `--requests=${count * MORE_AT_ONCE}`, ...options);

/** What is asked of ours for a body of that size. */
function goalsFor(bytes, isValid) {
  const goals = [];
  if (isValid && bytes <= 100) goals.push({ to: "trivial", atMost: 1.05 });
  if (bytes <= 1000) goals.push({ to: "zod", atMost: 1 });
  if (bytes === 100_000) goals.push({ to: "zod", atMost: 3 });
  return goals;
}

const KINDS = {
  p50: { what: "p50", unit: "us", better: "less" },
  p99: { what: "p99", unit: "us", better: "less" },
  perSecond: { what: `${CONNECTIONS} at once`, unit: "requests/s", better: "more" },
};

function printRows({ name, bytes }, figures, isValid) {
  for (const [kind, { what, ...rest }] of Object.entries(KINDS)) {
    if (figures[kind].ours.length === 0) continue;
    const goals = kind === "p50" ? goalsFor(bytes, isValid) : [];
    print({ section: "edge", name: `${name}, ${what}`, ...rest, figures: figuresOf(figures[kind]), goals });
  }
}

function printGrowth({ bytes }, figures) {
  const growth = { section: "growth", series: "the edge's time for a valid call, by bytes of its body", x: bytes };
  const name = `edge: valid, ${bytes} bytes, p50`;
  print({ ...growth, name, unit: "us", better: "less", figures: figuresOf(figures.p50) });
}

/** A byte of a body may not cost more where there are more of them; less it does, for what each call costs. */
const MOST_GROWTH = 1.5;

/** @param valid the p50 of ours in each round, by the bytes of the body */
function printLinearity(valid) {
  const [[less, ofLess], [more, ofMore]] = [...valid].slice(-2);
  const ratios = ofMore.map((us, round) => us / more / (ofLess[round] / less));
  const name = `valid, time for a byte of ${more / 1000} KB to that of ${less / 1000} KB`;
  const figures = { ours: figureOf(ratios) };
  print({ section: "edge", name, unit: "times", better: "less", figures, goals: [{ atMost: MOST_GROWTH }] });
}

await serving(OUT, config, `http://127.0.0.1:${PORTS.ours}/health`, async () => {
  const valid = new Map();
  for (const test of VALID) {
    const figures = await measure(test);
    valid.set(test.bytes, figures.p50.ours);
    printRows(test, figures, true);
    printGrowth(test, figures);
  }
  printLinearity(valid);
  if (isGrowthOnly) return;
  for (const test of SCRIPTS) printRows(test, await measure(test), true);
  for (const test of [...INVALID, ...REFUSED]) printRows(test, await measure(test), false);
});
