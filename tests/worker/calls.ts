import { concat } from "../../worker/bytes";
import { SEED_HEADER } from "../../worker/executions";
import { fieldOf, readFields, writeFields } from "../../worker/fields";
import { type OutcomeName, readOutcome } from "../../worker/outcome";

/** What the worker sends a room's object for a call of exec. */
export function exec(
  cmd: string,
  options: { mode?: "stream" | "detach"; key?: string; dialect?: string; signal?: AbortSignal } = {},
): Request {
  const { mode, key, dialect = "rooms", signal } = options;
  const seed = writeFields(["mode", mode ?? "plain"], ["command", cmd]);
  const body = new TextEncoder().encode(JSON.stringify({ cmd, ...(mode && { [mode]: true }) }));
  const headers = new Headers({ "roombox-dialect": dialect, [SEED_HEADER]: `${seed.byteLength}` });
  if (key !== undefined) headers.set("idempotency-key", key);
  return new Request("http://sandbox/executions", {
    method: "POST",
    headers,
    body: concat(seed, body),
    ...(signal && { signal }),
  });
}

/** And for one about an execution that exists. */
export function call(id: string, verb: "events" | "stdin?eof=true" | "kill", init: RequestInit = {}): Request {
  return new Request(`http://sandbox/executions/${id}/${verb}`, {
    method: verb === "events" ? "GET" : "POST",
    ...init,
    headers: { "roombox-execution": id },
  });
}

/** What a reply came to: the name of its outcome and the fields as text, or the agent's status. */
export async function told(reply: Response | Promise<Response>) {
  const response = await reply;
  const outcome = await readOutcome(response);
  return outcome ? { name: outcome.name, ...values(outcome.fields) } : { status: response.status };
}

export function values(fields: Uint8Array = new Uint8Array()): Record<string, string> {
  return Object.fromEntries([...readFields(fields)].map(([name, value]) => [name, new TextDecoder().decode(value)]));
}

export function status(fields: { name: OutcomeName; fields?: Uint8Array }): string {
  return fieldOf(fields.fields ?? new Uint8Array(), "status") ?? fields.name;
}
