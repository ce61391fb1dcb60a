// How large what we ship is. Prints rows (rows.ts).

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";
import { figureOf, type Goal, print } from "./rows.ts";

const WASM = "build/wasi/wasm/edge.wasm";
const AGENT = "build/native/container/roombox-agent";
const KIB = 1 << 10;
const MIB = 1 << 20;

/** The edge core is loaded wherever a request arrives. */
const MOST_WASM_KIB = 88;
/** A Worker's limit on the free plan, of Cloudflare's documents: 3 MB. */
const MOST_BUNDLE_KIB = 3000;

/** Of the sandbox's image, what container/Dockerfile adds to Debian, by what its steps say. */
const STEPS: [name: string, step: RegExp][] = [
  ["image: Debian's packages for commands", /apt-get install/],
  ["image: the user, and no way to more rights", /useradd/],
  ["image: the agent", /COPY .*roombox-agent/],
];

const gzipped = (bytes: Uint8Array) => gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }).length;

function size(name: string, unit: "KiB" | "MiB", bytes: number, goals: Goal[] = []): void {
  const figures = { ours: figureOf([bytes / (unit === "KiB" ? KIB : MIB)]) };
  print({ section: "memory", name, unit, better: "less", figures, goals });
}

const wasm = readFileSync(WASM);
size("edge.wasm", "KiB", wasm.length);
size("edge.wasm, gzipped", "KiB", gzipped(wasm), [{ atMost: MOST_WASM_KIB }]);
size("the Worker with it, gzipped", "KiB", bundled(), [{ atMost: MOST_BUNDLE_KIB }]);
size("the agent, a static program", "MiB", statSync(AGENT).size);
for (const [name, bytes] of layers()) size(name, "MiB", bytes);

/** What a deployment uploads. */
function bundled(): number {
  const out = mkdtempSync(join(tmpdir(), "roombox-bundle-"));
  const options = ["--config", "tests/worker/bench/wrangler.toml", "--minify", "--dry-run", "--outdir", out];
  const { status, stdout, stderr } = spawnSync("wrangler", [
    "deploy",
    join(process.cwd(), "worker/index.ts"),
    ...options,
  ]);
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  const files = readdirSync(out).filter((name) => /\.(js|wasm)$/.test(name));
  const bytes = files.reduce((sum, name) => sum + gzipped(readFileSync(join(out, name))), 0);
  rmSync(out, { recursive: true });
  return bytes;
}

/** Nothing where no engine runs. The image is there, or made, from the engine's cache where that has it. */
function layers(): [name: string, bytes: number][] {
  const run = (command: string, ...args: string[]) => spawnSync(command, args, { encoding: "utf8" });
  if (run("docker", "version").status !== 0) return [];
  const built = run("scripts/docker", "build", "--quiet", "--file", "container/Dockerfile", ".");
  const image = built.stdout.trim().split("\n").at(-1) ?? "";
  const format = "{{.Size}} {{.CreatedBy}}";
  const history = run("docker", "history", "--human=false", "--no-trunc", "--format", format, image);
  if (built.status !== 0 || history.status !== 0) throw new Error(built.stderr + history.stderr);
  const lines = history.stdout.split("\n");
  return STEPS.map(([name, step]) => {
    const line = lines.find((each) => step.test(each));
    if (line === undefined) throw new Error(`the image has no step for ${name}`);
    return [name, Number.parseInt(line, 10)];
  });
}
