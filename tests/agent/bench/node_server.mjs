// What a plain Node server makes of the same: the shell by child_process, a JSON answer, or the bytes of its
// stdout piped through; terminals by node-pty and ws. One of the peers that agent_bench puts beside the agent.
//
//   node node_server.mjs <shell> <port>

import { spawn } from "node:child_process";
import { createServer } from "node:http";

const [shell, port] = process.argv.slice(2);

async function text(stream) {
  let whole = "";
  stream.setEncoding("utf8");
  for await (const part of stream) whole += part;
  return whole;
}

/** Runs a command, and answers the request when it and its output have ended. */
async function run(cmd, response) {
  const child = spawn(shell, ["-c", cmd], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  const body = JSON.stringify({ stdout, stderr, exitCode });
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

function stream(cmd, response) {
  const child = spawn(shell, ["-c", cmd], { stdio: ["ignore", "pipe", "inherit"] });
  response.writeHead(200, { "Content-Type": "application/octet-stream" });
  child.stdout.pipe(response);
}

const server = createServer(async (request, response) => {
  try {
    const body = JSON.parse(await text(request));
    if (body.stream) stream(body.cmd, response);
    else await run(body.cmd, response);
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
/** A terminal for each WebSocket, whose messages are the bytes. */
server.on("upgrade", async (request, socket, head) => {
  const [{ default: pty }, { WebSocketServer }] = await Promise.all([import("@lydell/node-pty"), import("ws")]);
  const cmd = new URL(request.url, "http://sandbox").searchParams.get("cmd");
  new WebSocketServer({ noServer: true }).handleUpgrade(request, socket, head, (client) => {
    const terminal = pty.spawn(shell, ["-c", cmd], { cols: 80, rows: 24, encoding: null });
    terminal.onData((bytes) => client.send(bytes));
    terminal.onExit(() => client.close());
    client.on("message", (keys) => terminal.write(keys.toString()));
    client.on("close", () => terminal.kill());
  });
});
server.keepAliveTimeout = 0; // a connection waits while the others have their turn
server.listen(Number(port), "127.0.0.1");
