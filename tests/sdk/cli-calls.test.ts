import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { error, json, type Reply, serve } from "./server";

// What the command line asks of the server, by a server that answers at once.

const run = promisify(execFile);
const MAIN = ["--no-warnings", "sdk/cli/main.ts"];
const within = { timeout: 30_000 };
const at = (url: string) => ({ ...within, env: { ...process.env, ROOMBOX_URL: url } });

it("a command has an hour if nothing else is said, however it is run", async () => {
  const { url, received } = await serve(error(400, "invalid_request"));
  for (const how of ["-n", "--json"]) {
    await expect(run(process.execPath, [...MAIN, "exec", how, "r", "x"], at(url))).rejects.toMatchObject({ code: 125 });
    await expect(
      run(process.execPath, [...MAIN, "exec", how, "--timeout", "2s", "r", "x"], at(url)),
    ).rejects.toMatchObject({ code: 125 });
  }
  expect(received.map(({ body }) => JSON.parse(body).timeout_ms)).toEqual([3_600_000, 2_000, 3_600_000, 2_000]);
}, 60_000);

it("what is no file on a disk is copied to its end, and a file with its size", async () => {
  const taken: Reply = (response, { method, body }) => {
    if (method === "HEAD") response.writeHead(404).end();
    else json(200, { path: "/x", size: body.length })(response, { method, body, url: "", headers: {} });
  };
  const { url, received } = await serve(taken);
  const here = mkdtempSync(join(tmpdir(), "roombox-cp-"));
  onTestFinished(() => rmSync(here, { recursive: true }));
  writeFileSync(join(here, "a"), "of a size");
  const copy = ["-c", `exec "$@" <(echo piped) r:/x`, "bash", process.execPath, ...MAIN, "cp"];
  await run("bash", copy, at(url));
  await run(process.execPath, [...MAIN, "cp", join(here, "a"), "r:/x"], at(url));
  const puts = received.filter(({ method }) => method === "PUT");
  expect(puts.map(({ body, headers }) => [body, headers["content-length"]])).toEqual([
    ["piped\n", undefined],
    ["of a size", "9"],
  ]);
}, 60_000);
