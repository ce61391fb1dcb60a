import { type Bytes, bytesOf } from "./bytes";

/** What became of a call that has no reply of the agent, for the core to word: a name of wasm/outcome.cpp, and fields. */
export interface Outcome {
  name: OutcomeName;
  fields?: Bytes;
}

export type OutcomeName =
  | "deleted"
  | "absent"
  | Failure
  | "lost"
  | "gone"
  | "crashed"
  | "no_execution"
  | "ended"
  | "earlier_life"
  | "key_reused"
  | "too_many_calls"
  | "too_many_executions"
  | "too_many_tickets"
  | "too_many_present"
  | "metrics"
  | "no_metrics"
  | "metrics_failed"
  | "key_spent"
  | "cut"
  | "record"
  | "records"
  | "events"
  | "attach"
  | "terminal"
  | "sessions"
  | "result"
  | "room"
  | "created"
  | "timeout_set"
  | "token"
  | "ticket"
  | "no_token_key"
  | "sleep_failed"
  | "slept"
  | "rooms";

/** Why a container takes no commands. */
export type Failure =
  | "start_failed"
  | "restore_failed"
  | "start_timeout"
  | "at_capacity"
  | "too_many_rooms"
  | "hosts_invalid"
  | "gone";

/** On replies of the object that are not the agent's; the fields are the body then. */
const OUTCOME_HEADER = "roombox-outcome";

export function outcomeReply(name: OutcomeName, fields?: Bytes): Response {
  return new Response(fields ?? null, { headers: { [OUTCOME_HEADER]: name } });
}

export function outcomeName(reply: Response): OutcomeName | undefined {
  return (reply.headers.get(OUTCOME_HEADER) as OutcomeName | null) ?? undefined;
}

/** The outcome that a reply of the object tells; none if it is the agent's. */
export async function readOutcome(reply: Response): Promise<Outcome | undefined> {
  const name = outcomeName(reply);
  return name && { name, fields: await bytesOf(reply) };
}
