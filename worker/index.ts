import { readBody } from "./body";
import { type Decision, EdgeCore, headOf } from "./edge";
import { OUTCOME_HEADER } from "./sandbox";

export { Sandbox } from "./sandbox";

const core = new EdgeCore();

export default {
  async fetch(request, env): Promise<Response> {
    const head = headOf(request);
    try {
      return await carryOut(request, head, env);
    } catch (error) {
      console.error("the edge failed", error);
      return answerCrash(head);
    }
  },
} satisfies ExportedHandler<Env>;

/** Asks the core and does as it decides. */
async function carryOut(request: Request, head: string, env: Env): Promise<Response> {
  let body: Uint8Array | undefined;
  let decision = core.decide(head);
  if (decision.action === "readBody") {
    body = await readBody(request, decision.limit);
    decision = core.decide(head, body);
  }
  switch (decision.action) {
    case "answer":
      return decision.response;
    case "forward":
      return forward(decision, body, head, env);
    case "destroy":
      return core.outcome(head, await env.SANDBOX.getByName(decision.sandbox).destroy());
    case "readBody":
      throw new Error("the core asked for a body that it has");
  }
}

/** Sends the caller's own bytes to the sandbox and pipes its reply through; words it only where there is none. */
async function forward(
  to: Extract<Decision, { action: "forward" }>,
  body: Uint8Array | undefined,
  head: string,
  env: Env,
): Promise<Response> {
  const { method, headers } = to;
  const reply = await env.SANDBOX.getByName(to.sandbox).fetch(`http://sandbox${to.path}`, {
    method,
    headers,
    body: body ?? null,
  });
  const outcome = reply.headers.get(OUTCOME_HEADER);
  return outcome === null ? reply : core.outcome(head, outcome);
}

/** The core words its own crash too, in a fresh instance; should that one trap as well, the status must do. */
function answerCrash(head: string): Response {
  try {
    return core.outcome(head, "crashed");
  } catch {
    return new Response(null, { status: 500 });
  }
}
