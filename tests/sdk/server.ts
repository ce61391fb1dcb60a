import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { type RoomboxOptions, roombox } from "../../sdk/index";

export interface Received {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** What is done to a call; the last of several is done to all that come later. */
export type Reply = (response: ServerResponse, received: Received) => void;

/** A server of a test's own, which tells what it got. */
export async function serve(...replies: Reply[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray();
    const { method = "", url = "", headers } = request;
    const call = { method, url, headers, body: `${Buffer.concat(chunks)}` };
    received.push(call);
    replies[Math.min(received.length, replies.length) - 1]?.(response, call);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

/** Hangs up without an answer. */
export const hangUp: Reply = (response) => response.destroy();

/** Hangs up in the middle of a body. */
export const breakOff: Reply = (response) => {
  response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
  response.write('{"result":{', () => response.destroy());
};

export const error = (status: number, code: string, headers: Record<string, string> = {}): Reply =>
  json(status, { error: `it is ${code}`, code }, { "x-request-id": "trace-1", ...headers });

export const roomOf = (url: string, options: Partial<RoomboxOptions> = {}) => roombox({ url, ...options }).room("r");

export const RESULT = {
  id: "exec_1",
  status: "completed",
  exitCode: 0,
  signal: null,
  success: true,
  stdout: "out\n",
  stderr: "",
  truncated: false,
  oom: false,
  command: "x",
  duration: 1,
  timestamp: "2026-01-01T00:00:00.000Z",
  finishedAt: "2026-01-01T00:00:00.001Z",
};

export const answered = json(200, { result: RESULT, sandboxName: "sandbox-r" });
