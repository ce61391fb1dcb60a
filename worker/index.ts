import { readBody } from "./body";
import { type Bytes, bytesOf, concat } from "./bytes";
import { type Caller, callerOf, PROTOCOL, PROTOCOL_HEADER, signToken } from "./credentials";
import { type Ask, EdgeCore, type Forward, headOf } from "./edge";
import { withEndMark } from "./end-mark";
import { SEED_HEADER } from "./executions";
import { ATTEMPT_HEADER, type Attempt, callFresh } from "./fresh";
import { withLastEvent } from "./last-event";
import { roomOf } from "./names";
import { type Outcome, readOutcome } from "./outcome";
import { isTooMany } from "./rates";
import { createRoom, listRooms } from "./rooms";

export { Egress } from "./egress";
export { Registry } from "./registry";
export { Sandbox } from "./sandbox";

const core = new EdgeCore();

export default {
  async fetch(request, env): Promise<Response> {
    const caller = await callerOf(request, env);
    const head = headOf(request, { caller: caller.word, origins: env.ALLOWED_ORIGINS });
    try {
      return await carryOut(request, caller, head, env);
    } catch (error) {
      if (!request.signal.aborted) console.error("the edge failed", error);
      return answerCrash(head);
    }
  },
} satisfies ExportedHandler<Env>;

/** Asks the core and does as it decides. */
async function carryOut(request: Request, caller: Caller, head: string, env: Env): Promise<Response> {
  let body: Bytes | undefined;
  let decision = core.decide(head);
  if (decision.action === "readBody") {
    body = await readBody(request, decision.limit);
    decision = core.decide(head, body);
  }
  if ("sandbox" in decision && (await isTooMany(env, caller, decision.sandbox))) {
    return core.outcome(head, { name: "too_many_calls" });
  }
  switch (decision.action) {
    case "answer":
      return decision.response;
    case "forward":
      return forward(decision, request, caller, body, head, env);
    case "ask":
      return core.outcome(head, await ask(decision, env));
    case "readBody":
      throw new Error("the core asked for a body that it has");
  }
}

/** Calls by these have no body. */
const BODILESS = ["GET", "HEAD", "DELETE"];
/** Not even for a server of the sandbox: the platform sends none with them. */
const NEVER_A_BODY = ["GET", "HEAD"];
const FRAMING = ["content-length", "transfer-encoding"];

/**
 * Sends the caller's own bytes, as they were read or else as they come, to the sandbox and pipes its reply through; words it
 * only where there is none. A client that leaves takes its call along, by the signal until there is a reply and by the pipe
 * from then on.
 */
async function forward(
  to: Forward,
  request: Request,
  caller: Caller,
  read: Bytes | undefined,
  head: string,
  env: Env,
): Promise<Response> {
  const headers = headersFor(to, request, caller);
  const body = bodyFor(to, request, read, headers);
  const send = (attempt: Attempt) => {
    headers.set(ATTEMPT_HEADER, attempt);
    const init = { method: to.method, headers, body, signal: request.signal, redirect: "manual" } as const;
    return env.SANDBOX.getByName(to.sandbox).fetch(`http://sandbox${to.path}`, init);
  };
  const reply = await (body instanceof ReadableStream ? send("last") : callFresh(send)); // a stream is there once only
  const outcome = await readOutcome(reply);
  if (outcome) return core.outcome(head, outcome);
  return dressed(reply, to, caller, head);
}

/** The agent's or the server's reply as the client gets it; its body passes through. */
function dressed(reply: Response, to: Forward, caller: Caller, head: string): Response {
  const isStream = !to.isTransparent && reply.headers.get("content-type")?.startsWith("text/event-stream");
  const more = [...to.replyHeaders];
  if (reply.webSocket && caller.spent.includes(PROTOCOL_HEADER)) more.push([PROTOCOL_HEADER, PROTOCOL]);
  if (!isStream && more.length === 0) return reply;
  const headers = new Headers(reply.headers);
  for (const [name, value] of more) headers.set(name, value);
  const { status, webSocket } = reply;
  const last = async () => bytesOf(core.outcome(head, { name: "cut" }));
  const body = isStream && reply.body ? withLastEvent(reply.body, last) : reply.body;
  return new Response(body, { status, headers, webSocket });
}

/** What is ours alone to say, to the object and to the agent. */
const OURS = "roombox-";

/** A server in the sandbox gets the caller's own headers, but not what was meant for us. */
function headersFor(to: Forward, request: Request, caller: Caller): Headers {
  const headers = new Headers(to.isTransparent ? request.headers : undefined);
  for (const name of caller.spent) headers.delete(name);
  for (const name of [...headers.keys()]) if (name.startsWith(OURS)) headers.delete(name);
  for (const [name, value] of to.headers) headers.set(name, value);
  if (to.seed.byteLength > 0) headers.set(SEED_HEADER, `${to.seed.byteLength}`);
  return headers;
}

/** @param headers get what the agent needs to see that the body is whole */
function bodyFor(to: Forward, request: Request, read: Bytes | undefined, headers: Headers): BodyInit | null {
  if ((to.isTransparent ? NEVER_A_BODY : BODILESS).includes(to.method)) {
    for (const name of FRAMING) headers.delete(name);
    return null;
  }
  if (to.isTransparent) return request.body;
  return read ? concat(to.seed, read) : withEndMark(request, headers);
}

/** Asks the object whose the operation is: the sandbox's, or those that know of all rooms. */
async function ask({ operation, sandbox, arguments: named, fields }: Ask, env: Env): Promise<Outcome> {
  const object = env.SANDBOX.getByName(sandbox);
  const limit = Number(named.get("limit"));
  const scopes = named.get("scopes") ?? "";
  const after = named.get("sleep_after_ms");
  const sleepAfter = after === undefined ? undefined : Number(after);
  switch (operation) {
    case "destroy":
      return object.destroy();
    case "status":
      return object.status();
    case "record":
      return object.record(named.get("id") ?? "");
    case "records":
      return object.records(limit, named.get("cursor"), named.get("status"));
    case "rooms":
      return listRooms(env, limit, named.get("cursor"));
    case "create":
      return createRoom(env, named.get("prefix") ?? "", fields, sleepAfter);
    case "token":
      return signToken(env, roomOf(sandbox), scopes, Number(named.get("lifetime_ms")));
    case "ticket":
      return object.ticket(scopes);
    case "sleep":
      return object.sleep();
    case "wake":
      return callFresh((attempt) => env.SANDBOX.getByName(sandbox).wake(sleepAfter, attempt));
    case "timeout":
      return object.sleepAfter(sleepAfter ?? 0);
    case "sessions":
      return object.sessions();
    default:
      throw new Error(`the core asked for an unknown operation ${operation}`);
  }
}

/** The core words its own crash too, in a fresh instance; should that one trap as well, the status must do. */
function answerCrash(head: string): Response {
  try {
    return core.outcome(head, { name: "crashed" });
  } catch {
    return new Response(null, { status: 500 });
  }
}
