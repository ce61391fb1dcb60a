// What a plain Node server makes of the same: `bash -c` by child_process, a JSON answer, or the bytes of its
// stdout piped through. The peer that agent_bench puts beside the agent.
//
//   node node_server.mjs        logs the port it has taken

import { spawn } from "node:child_process";
import { createServer } from "node:http";

async function text(stream) {
  let whole = "";
  stream.setEncoding("utf8");
  for await (const part of stream) whole += part;
  return whole;
}

/** Runs a command, and answers the request when it and its output have ended. */
async function run(cmd, response) {
  const child = spawn("bash", ["-c", cmd], { stdio: ["ignore", "pipe", "pipe"] });
  const exited = new Promise((resolve, reject) => child.once("exit", resolve).once("error", reject));
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  const body = JSON.stringify({ stdout, stderr, exitCode });
  response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

function stream(cmd, response) {
  const child = spawn("bash", ["-c", cmd], { stdio: ["ignore", "pipe", "inherit"] });
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
server.keepAliveTimeout = 0; // a connection waits while the others have their turn
server.listen(0, "127.0.0.1", () => console.error(`listening on 127.0.0.1:${server.address().port}`));
