import { type Context, Hono } from "hono";
import { logger } from "hono/logger";
import { requestId } from "hono/request-id";
import { z } from "zod";

// The calls of a room and the rules of exec as one would write them in TypeScript, with Hono and zod: what the core is measured by.

interface Bindings {
  STUB: DurableObjectNamespace;
  /** "yes": it writes to the log what it is asked and answers, and gives each call an id, as ours does. */
  LOGS: string;
}
type Call = Context<{ Bindings: Bindings }>;

const MAX_BODY = 4 << 20;
const MAX_COMMAND = 1 << 20;
const MAX_MS = 3_600_000;
const ROOM_ID = /^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$/;

const withoutNul = z.string().refine((text) => !text.includes("\0"), "NUL is not allowed");
const duration = z.number().int().min(1).max(MAX_MS);
const side = z.number().int().min(1).max(65_535);
const schema = z.strictObject({
  cmd: withoutNul.min(1, "Command cannot be empty").max(MAX_COMMAND),
  cwd: withoutNul.startsWith("/").max(4095).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), withoutNul).optional(),
  timeout_ms: duration.optional(),
  stdin: z.string().max(MAX_COMMAND).optional(),
  stream: z.boolean().optional(),
  detach: z.boolean().optional(),
  max_run_after_disconnect_ms: duration.optional(),
  shell: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,32}$/)
    .optional(),
  pty: z.strictObject({ cols: side.optional(), rows: side.optional() }).optional(),
  encoding: z.enum(["utf8", "base64"]).optional(),
});

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function refused(call: Call, details: Record<string, string[]>): Response {
  return call.json({ error: "invalid request", details, code: "invalid_request" }, 400);
}

/** Zod names the object of an unknown field; the API names the field. */
function detailsOf(error: z.ZodError): Record<string, string[]> {
  const details: Record<string, string[]> = {};
  for (const issue of error.issues) {
    const names = issue.code === "unrecognized_keys" ? issue.keys : [String(issue.path[0] ?? "body")];
    for (const name of names) details[name] = [...(details[name] ?? []), issue.message];
  }
  return details;
}

function parsed(bytes: ArrayBuffer): { value: unknown } | { message: string } {
  try {
    return { value: JSON.parse(decoder.decode(bytes)) };
  } catch (error) {
    return { message: `not JSON: ${error}` };
  }
}

async function exec(call: Call): Promise<Response> {
  const room = call.req.param("roomID") ?? "";
  if (!ROOM_ID.test(room)) return refused(call, { roomID: ["A room ID has 1 to 64 characters"] });
  if (!call.req.header("content-type")?.startsWith("application/json")) {
    return call.json({ error: "the body must be application/json", code: "unsupported_media_type" }, 415);
  }
  if (Number(call.req.header("content-length")) > MAX_BODY) {
    return call.json({ error: `the body is over ${MAX_BODY} bytes`, code: "payload_too_large" }, 413);
  }
  const bytes = await call.req.arrayBuffer();
  const body = parsed(bytes);
  if ("message" in body) return refused(call, { body: [body.message] });
  const { error } = schema.safeParse(body.value);
  if (error) return refused(call, detailsOf(error));
  return call.env.STUB.getByName("sandbox-room-123").fetch("http://sandbox/", { method: "POST", body: bytes });
}

/** What is beside exec is there to be told apart from it. */
const elsewhere = (call: Call) => call.body(null, 501);
const R = "/api/rooms/:roomID";

function appOf(logs: boolean): Hono<{ Bindings: Bindings }> {
  const app = new Hono<{ Bindings: Bindings }>();
  if (logs) app.use(requestId(), logger());
  app.get("/health", (call) => call.text("ok"));
  app.get("/api/rooms", elsewhere);
  app.get(R, elsewhere);
  app.delete(R, elsewhere);
  app.post(`${R}/sleep`, elsewhere);
  app.post(`${R}/tokens`, elsewhere);
  app.post(`${R}/tickets`, elsewhere);
  app.get(`${R}/presence`, elsewhere);
  app.post(`${R}/sandbox/exec`, exec);
  app.get(`${R}/sandbox/metrics`, elsewhere);
  app.get(`${R}/sandbox/executions`, elsewhere);
  app.get(`${R}/sandbox/executions/:id`, elsewhere);
  for (const view of ["events", "attach"]) app.get(`${R}/sandbox/executions/:id/${view}`, elsewhere);
  for (const act of ["stdin", "kill", "resize"]) app.post(`${R}/sandbox/executions/:id/${act}`, elsewhere);
  app.on(["GET", "HEAD", "PUT", "DELETE"], `${R}/sandbox/files/*`, elsewhere);
  app.all(`${R}/sandbox/ports/:port/*`, elsewhere);
  app.all(`${R}/sandbox/exec`, (call) => {
    call.header("Allow", "POST");
    return call.json({ error: "method not allowed - only POST is supported", code: "method_not_allowed" }, 405);
  });
  app.notFound((call) => call.json({ error: "not found - no call has this path", code: "not_found" }, 404));
  return app;
}

const [silent, logging] = [appOf(false), appOf(true)];

export default {
  fetch: (request, env, ctx) => (env.LOGS === "yes" ? logging : silent).fetch(request, env, ctx),
} satisfies ExportedHandler<Bindings>;
