import { z } from "zod";
import { EdgeCore } from "../../../worker/edge";

// Decides on one request n times, by the core and by what a Worker in TypeScript would do. Clocks stand still inside workerd
// while it computes, so the caller (core.mjs) takes the time.

const core = new EdgeCore();
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const URL_OF_ROOM = "https://your-worker.workers.dev/api/rooms/room-123/sandbox/exec";
const HEAD = `POST ${URL_OF_ROOM}\nroombox-caller:key\ncontent-type:application/json\n`;

const bodies: Record<string, Uint8Array> = {
  exec: encoder.encode(
    `{"cmd":"echo 'Hello from sandbox'","cwd":"/workspace/project","timeout_ms":60000,"env":{"A":"1"}}`,
  ),
  invalid: encoder.encode('{"cmd":""}'),
  "10k": encoder.encode(JSON.stringify({ cmd: "x".repeat(10_000) })),
  "100k": encoder.encode(JSON.stringify({ cmd: "x".repeat(100_000) })),
  "1m": encoder.encode(JSON.stringify({ cmd: "x".repeat(1_000_000) })),
};

const schema = z.strictObject({
  cmd: z
    .string()
    .min(1, "Command cannot be empty")
    .max(1 << 20),
  cwd: z.string().startsWith("/").max(4095).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string()).optional(),
  timeout_ms: z.number().int().min(1).max(3_600_000).optional(),
});
const ROUTE = /^\/api\/rooms\/([^/]+)\/sandbox\/exec$/;
const ROOM_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/;

function decideByCore(body: Uint8Array): string | number {
  const decision = core.decide(HEAD, body);
  return decision.action === "forward"
    ? decision.sandbox
    : decision.action === "answer"
      ? decision.response.status
      : -1;
}

function decideByZod(body: Uint8Array): string | number {
  const room = ROUTE.exec(new URL(URL_OF_ROOM).pathname)?.[1];
  if (!room || !ROOM_ID.test(decodeURIComponent(room))) return 400;
  const parsed = schema.safeParse(JSON.parse(decoder.decode(body)));
  if (parsed.success) return `sandbox-${room}`;
  const { fieldErrors } = z.flattenError(parsed.error);
  return Response.json({ error: "invalid request", details: fieldErrors }, { status: 400 }).status;
}

export default {
  async fetch(request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    const body = bodies[searchParams.get("body") ?? ""];
    if (!body) return new Response(`no such body; there are ${Object.keys(bodies)}`, { status: 404 });
    const decide = searchParams.get("by") === "zod" ? decideByZod : decideByCore;
    let last: string | number = "";
    for (let n = Number(searchParams.get("n")); n > 0; n--) last = decide(body);
    return new Response(`${last}`);
  },
} satisfies ExportedHandler;
