import { execFileSync } from "node:child_process";
import { request as httpRequest } from "node:http";
import { inject } from "vitest";

/** What an exec call answers: the reference's fields, and ours. */
export interface ExecResult {
  id: string;
  status: string;
  exitCode: number | null;
  signal: string | null;
  success: boolean;
  stdout: string;
  stderr: string;
  truncated: boolean;
  oom: boolean;
  command: string;
  duration: number;
  timestamp: string;
}

export const origin = () => inject("origin");

let rooms = 0;
/** A room that no other test has. */
export const newRoom = () => `e2e-${process.pid}-${++rooms}`;

export const execUrl = (room: string) => `${origin()}/api/rooms/${room}/sandbox/exec`;

/** Posts an exec body as it is. */
export function post(room: string, body: string | object): Promise<Response> {
  return fetch(execUrl(room), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Runs a command; throws what is answered instead of a result. */
export async function exec(room: string, cmd: string, options: object = {}): Promise<ExecResult> {
  const response = await post(room, { cmd, ...options });
  const body = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${body}`);
  return JSON.parse(body).result;
}

export async function remove(room: string): Promise<{ sandboxName: string; deleted: boolean }> {
  const response = await fetch(`${origin()}/api/rooms/${room}`, { method: "DELETE" });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return (await response.json()) as { sandboxName: string; deleted: boolean };
}

/** Sends a request whose path no client library has normalised. */
export function rawRequest(
  method: string,
  path: string,
  headers: Record<string, string>,
  body: Uint8Array | undefined,
): Promise<{ status: number; headers: Record<string, string>; text: string }> {
  const { hostname, port } = new URL(origin());
  return new Promise((resolve, reject) => {
    const request = httpRequest({ hostname, port, method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers as Record<string, string>,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}

export const docker = (...args: string[]) => execFileSync("docker", args, { encoding: "utf8" }).trim();

const NAME = process.env.ROOMBOX_NAME ?? "roombox-e2e";

/** Names of the sandboxes' running containers, without those of the ingress. */
export function sandboxContainers(): string[] {
  const names = docker("ps", "--format", "{{.Names}}").split("\n");
  return names.filter((name) => name.includes(`-${NAME}-Sandbox-`) && !name.endsWith("-proxy"));
}

/** The container that a room's sandbox runs in. */
export async function containerOf(room: string): Promise<string> {
  const { stdout } = await exec(room, "hostname");
  const found = sandboxContainers().find((name) => {
    return docker("exec", name, "hostname") === stdout.trim();
  });
  if (!found) throw new Error(`no container has the host name ${stdout}`);
  return found;
}
