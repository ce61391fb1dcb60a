import { spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";

// Where and with what a run was made.

export interface Run {
  /** ISO 8601, in UTC. */
  date: string;
  cpu: string;
  cores: number;
  memory: string;
  kernel: string;
  /** Means of the last 1, 5 and 15 minutes, before the run. */
  load: string;
  versions: Record<string, string>;
}

const GIB = 1 << 30;

/** Programs, and what they answer by; the first numbers with dots or hyphens between them are the version. */
const PROGRAMS: [name: string, command: string, ...args: string[]][] = [
  ["workerd", "workerd", "--version"],
  ["Docker", "dockerd", "--version"],
  ["bash", "bash", "--version"],
  ["python3", "python3", "--version"],
  ["webhook", "webhook", "--version"],
  ["ttyd", "ttyd", "--version"],
];
/** npm packages that take part. */
const PACKAGES = ["wrangler", "zod", "hono", "@sandbox-agent/cli-linux-x64"];
/** The compilers that the build directories have. */
const BUILDS = { "agent by": "build/native", "core by": "build/wasi" };

/** @param load that before the run */
export function thisRun(load: string): Run {
  const [cpu] = cpus();
  return {
    date: new Date().toISOString(),
    cpu: cpu?.model ?? "unknown",
    cores: cpus().length,
    memory: `${(totalmem() / GIB).toFixed(1)} GiB`,
    kernel: release(),
    load,
    versions: versions(),
  };
}

function versions(): Record<string, string> {
  const all: Record<string, string> = { node: process.version.slice(1) };
  const add = (name: string, version: string | undefined) => {
    if (version !== undefined) all[name] = version;
  };
  for (const [name, command, ...args] of PROGRAMS) add(name, versionOf(command, ...args));
  for (const name of PACKAGES) add(name, versionOfPackage(name));
  for (const [name, build] of Object.entries(BUILDS)) add(name, compilerOf(build));
  return all;
}

/** What a program says first; nothing where it is not there. */
function firstLine(command: string, ...args: string[]): string | undefined {
  const { error, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  return error ? undefined : (stdout || stderr).trim().split("\n")[0];
}

const versionOf = (command: string, ...args: string[]) => /\d+([.-]\d+)+/.exec(firstLine(command, ...args) ?? "")?.[0];

function versionOfPackage(name: string): string | undefined {
  const file = `node_modules/${name}/package.json`;
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")).version : undefined;
}

function compilerOf(build: string): string | undefined {
  const [file] = globSync(`${build}/CMakeFiles/*/CMakeCXXCompiler.cmake`);
  if (file === undefined) return undefined;
  const [, compiler] = /^set\(CMAKE_CXX_COMPILER "(.+)"\)$/m.exec(readFileSync(file, "utf8")) ?? [];
  return compiler === undefined ? undefined : firstLine(compiler, "--version");
}
