import { DurableObject } from "cloudflare:workers";

// Stands in for the room of whoever forwards a call: it reads what it gets, and its answer is always the same.

const ANSWER = JSON.stringify({
  result: { id: "exec_0123456789abcdef0123", status: "completed", exitCode: 0, success: true, stdout: "", stderr: "" },
  sandboxName: "sandbox-room-123",
});
const HEADERS = { "content-type": "application/json" };

export class Stub extends DurableObject {
  async fetch(request: Request): Promise<Response> {
    await request.arrayBuffer();
    return new Response(ANSWER, { headers: HEADERS });
  }
}

export default { fetch: () => new Response(null, { status: 404 }) };
