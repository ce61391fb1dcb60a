import { execFileSync } from "node:child_process";
import { request as httpRequest } from "node:http";
import { type EventSourceMessage, EventSourceParserStream } from "eventsource-parser/stream";
import { inject } from "vitest";

/** What an exec call answers: the reference's fields, and ours. */
export interface ExecResult {
  id: string;
  status: "running" | "completed" | "timeout" | "cancelled" | "failed";
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
  finishedAt: string | null;
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

/** Calls any path of the API; a body that is an object goes as JSON. */
export async function call(
  method: string,
  path: string,
  body?: object | string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const isJson = typeof body === "object";
  return fetch(origin() + path, {
    method,
    headers: { ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
  });
}

/** The same, for an answer of JSON with that status. */
export async function callJson(status: number, ...request: Parameters<typeof call>) {
  const response = await call(...request);
  const text = await response.text();
  if (response.status !== status) throw new Error(`${response.status} instead of ${status}: ${text}`);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as it is
  return JSON.parse(text) as any;
}

const executionsPath = (room: string) => `/api/rooms/${room}/sandbox/executions`;
export const executionPath = (room: string, id: string) => `${executionsPath(room)}/${id}`;

/** Starts a command that outlives the call; its id. */
export async function detach(room: string, cmd: string, options: object = {}): Promise<string> {
  const { result } = await callJson(202, "POST", `/api/rooms/${room}/sandbox/exec`, { cmd, detach: true, ...options });
  return result.id;
}

/** A record as it stands. */
export const record = async (room: string, id: string): Promise<ExecResult> =>
  (await callJson(200, "GET", executionPath(room, id))).result;

/** The record of an execution that ends by itself, once it has; its events tell when. */
export async function ended(room: string, id: string): Promise<ExecResult> {
  await (await call("GET", `${executionPath(room, id)}/events`)).text();
  return record(room, id);
}

/** An event as an ordinary parser reads it, its data parsed. */
export interface Event {
  event: string;
  id: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as it is
  data: any;
}

/** The events of a response, as they come. */
export async function* events(response: Response): AsyncGenerator<Event> {
  if (!response.body) throw new Error("no body");
  const messages = response.body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .pipeThrough(new EventSourceParserStream());
  for await (const { event, id, data } of messages as unknown as AsyncIterable<EventSourceMessage>)
    yield { event: event ?? "message", id: Number(id), data: JSON.parse(data) };
}

export async function allEvents(response: Response): Promise<Event[]> {
  const all: Event[] = [];
  for await (const event of events(response)) all.push(event);
  return all;
}

/** What the events say that a stream wrote. */
export const textOf = (all: Event[], stream: "stdout" | "stderr") =>
  all
    .filter(({ event }) => event === stream)
    .map(({ data }) => data.data)
    .join("");

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
