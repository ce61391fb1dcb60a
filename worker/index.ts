import { LEFT, tellRequest } from "./audit";
import { readBody } from "./body";
import { type Bytes, bytesOf, concat } from "./bytes";
import { type Caller, callerOf, nobody, PROTOCOL, PROTOCOL_HEADER, signToken } from "./credentials";
import { type Ask, EdgeCore, type Forward, headOf, type Note } from "./edge";
import { withEndMark } from "./end-mark";
import { CALLER_HEADER, EXECUTION_HEADER, SEED_HEADER } from "./executions";
import { fieldOf } from "./fields";
import { ATTEMPT_HEADER, type Attempt, callFresh, isRefreshed } from "./fresh";
import { withLastEvent } from "./last-event";
import { roomOf } from "./names";
import { type Outcome, readOutcome } from "./outcome";
import { isTooMany } from "./rates";
import { createRoom, listRooms } from "./rooms";
import { passOn, REQUEST_ID_HEADER, type Trace, traceOf, traceparent } from "./trace";

export { Egress } from "./egress";
export { Registry } from "./registry";
export { Sandbox } from "./sandbox";

const core = new EdgeCore();

/** A request on its way. What becomes known of it is noted, for its line in the log. */
interface Call {
  request: Request;
  env: Env;
  trace: Trace;
  caller: Caller;
  /** As the core reads it. */
  head: string;
  note: Partial<Note>;
  /** What is done about it. */
  action: string;
}

export default {
  fetch(request, env, ctx): Promise<Response> {
    const answer = answerAndTell(request, env);
    ctx.waitUntil(answer); // or nothing would be told of one whose client leaves
    return answer;
  },
} satisfies ExportedHandler<Env>;

async function answerAndTell(request: Request, env: Env): Promise<Response> {
  const began = Date.now();
  const trace = traceOf(request.headers);
  const call: Call = { request, env, trace, caller: nobody("missing"), head: "", note: {}, action: "answer" };
  const response = await answerTo(call);
  const { route, room, execution, code } = call.note;
  const told = request.signal.aborted ? { status: LEFT, code: undefined } : { status: response.status, code };
  tellRequest(env, {
    trace: trace.id,
    method: request.method,
    route,
    room,
    execution,
    caller: call.caller.name,
    action: call.action,
    ...told,
    ms: Date.now() - began,
  });
  if (!response.headers.has(REQUEST_ID_HEADER)) response.headers.set(REQUEST_ID_HEADER, trace.id);
  return response;
}

/** Never throws. */
async function answerTo(call: Call): Promise<Response> {
  const { request, env } = call;
  const origins = env.ALLOWED_ORIGINS.trim().replaceAll(/\s+/g, " ");
  const knowing = ({ word }: Caller) => ({ caller: word, origins, maxRooms: env.MAX_ROOMS });
  try {
    call.caller = await callerOf(request, env);
    call.head = headOf(request, knowing(call.caller));
    return await carryOut(call);
  } catch (error) {
    if (isRefreshed(error)) return worded(call, { name: "lost" });
    if (!request.signal.aborted) console.error(`trace ${call.trace.id}: the edge failed`, error);
    call.head ||= headOf(request, knowing(call.caller));
    return answerCrash(call);
  }
}

/** Asks the core and does as it decides. */
async function carryOut(call: Call): Promise<Response> {
  const { request, env, caller, head } = call;
  let body: Bytes | undefined;
  let decision = core.decide(head);
  if (decision.action === "readBody") {
    body = await readBody(request, decision.limit);
    decision = core.decide(head, body);
    if (decision.action === "readBody") throw new Error("the core asked for a body that it has");
  }
  call.note = decision.note;
  if ("sandbox" in decision && (await isTooMany(env, caller, decision.sandbox))) {
    return worded(call, { name: "too_many_calls" });
  }
  switch (decision.action) {
    case "answer":
      return decision.response;
    case "forward":
      call.action = "forward";
      return forward(decision, call, body);
    case "ask":
      call.action = decision.operation;
      return answerAsked(decision, call);
    case "page":
      call.action = "page";
      return pageOf(decision.file, call);
  }
}

/** The answer to what became of a call. */
function worded(call: Call, outcome: Outcome): Response {
  const { response, note } = core.outcome(call.head, outcome);
  call.note = { ...call.note, code: note.code };
  return response;
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
async function forward(to: Forward, call: Call, read: Bytes | undefined): Promise<Response> {
  const { request, env } = call;
  const headers = headersFor(to, call);
  const body = bodyFor(to, request, read, headers);
  const send = (attempt: Attempt) => {
    headers.set(ATTEMPT_HEADER, attempt);
    const init = { method: to.method, headers, body, signal: request.signal, redirect: "manual" } as const;
    return env.SANDBOX.getByName(to.sandbox).fetch(`http://sandbox${to.path}`, init);
  };
  const reply = await (body instanceof ReadableStream ? send("last") : callFresh(send)); // a stream is there once only
  const outcome = await readOutcome(reply);
  const response = outcome ? worded(call, outcome) : dressed(reply, to, call);
  // A browser leaves where none of the protocols that it offers is answered.
  const offered = call.caller.spent.includes(PROTOCOL_HEADER);
  if (response.webSocket && offered) response.headers.set(PROTOCOL_HEADER, PROTOCOL);
  return response;
}

/** The agent's or the server's reply as the client gets it; its body passes through. */
function dressed(reply: Response, to: Forward, call: Call): Response {
  call.note.execution ??= reply.headers.get(EXECUTION_HEADER) ?? undefined;
  const isStream = !to.isTransparent && reply.headers.get("content-type")?.startsWith("text/event-stream");
  const last = async () => bytesOf(core.outcome(call.head, { name: "cut" }).response);
  const body = isStream && reply.body ? withLastEvent(reply.body, last) : reply.body;
  const response = new Response(body, reply);
  for (const [name, value] of to.replyHeaders) response.headers.set(name, value);
  return response;
}

/** What is ours alone to say, to the object and to the agent. */
const OURS = "roombox-";

/** The caller's headers for a server in the sandbox, without what was meant for us. */
function callersOwn(request: Request, { spent }: Caller): Headers {
  const headers = new Headers(request.headers);
  for (const name of spent) headers.delete(name);
  for (const name of [...headers.keys()]) if (name.startsWith(OURS)) headers.delete(name);
  return headers;
}

function headersFor(to: Forward, { request, caller, trace }: Call): Headers {
  const headers = to.isTransparent ? callersOwn(request, caller) : new Headers();
  for (const [name, value] of to.headers) headers.set(name, value);
  if (to.seed.byteLength > 0) headers.set(SEED_HEADER, `${to.seed.byteLength}`);
  headers.set(CALLER_HEADER, caller.name);
  passOn(headers, trace);
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

/** A static file with the headers that worker/web/public/_headers gives it; the caller may have it already. */
async function pageOf(file: string, { request, env }: Call): Promise<Response> {
  const reply = await env.ASSETS.fetch(new Request(new URL(`/${file}`, request.url), request));
  return new Response(reply.body, reply);
}

async function answerAsked(question: Ask, call: Call): Promise<Response> {
  const outcome = await ask(question, call);
  const { name, fields } = outcome;
  if (name === "created" && fields) call.note.room = roomOf(fieldOf(fields, "sandbox") ?? "");
  return worded(call, outcome);
}

/** Asks the object whose the operation is: the sandbox's, or those that know of all rooms. */
async function ask({ operation, sandbox, arguments: named, fields }: Ask, call: Call): Promise<Outcome> {
  const { env, caller } = call;
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
      return createRoom(env, named.get("prefix") ?? "", fields, caller.name, sleepAfter);
    case "token":
      return signToken(env, roomOf(sandbox), scopes, Number(named.get("lifetime_ms")));
    case "ticket":
      return object.ticket({ scopes, maker: caller.name });
    case "sleep":
      return object.sleep();
    case "wake":
      return callFresh((attempt) => env.SANDBOX.getByName(sandbox).wake(sleepAfter, attempt));
    case "timeout":
      return object.sleepAfter(sleepAfter ?? 0);
    case "metrics":
      return object.metrics(traceparent(call.trace));
    case "sessions":
      return object.sessions();
    default:
      throw new Error(`the core asked for an unknown operation ${operation}`);
  }
}

/** The core words its own crash too, in a fresh instance; should that one trap as well, the status must do. */
function answerCrash(call: Call): Response {
  try {
    return worded(call, { name: "crashed" });
  } catch {
    return new Response(null, { status: 500 });
  }
}
