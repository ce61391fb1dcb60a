import { type Json, resolved, type Schema } from "../../worker/web/docs/document.ts";
import { type Call, contract, given, OTHERWISE } from "./contract";
import type { Asked } from "./core";

/** What a schema refers to, if it does. */
export const behind = (schema: Schema): Schema => resolved(contract, schema as Schema & { $ref: string });

/** The schema of a call's JSON body. */
export function bodySchema({ operation }: Call): Schema | undefined {
  const schema = operation.requestBody?.content["application/json"]?.schema;
  return schema && behind(schema);
}

/** What is required of a body, with the values of its first example. */
export function leastBody(call: Call): Record<string, Json> | undefined {
  const schema = bodySchema(call);
  const [{ value } = { value: {} }] = Object.values(
    call.operation.requestBody?.content["application/json"]?.examples ?? {},
  );
  const needed = Object.entries(value as Record<string, Json>).filter(([name]) => schema?.required?.includes(name));
  return schema && Object.fromEntries(needed);
}

/** What a request has that is not as it should be. */
export interface Change {
  parameters?: Record<string, Json | undefined>;
  query?: string;
  headers?: Record<string, string>;
  body?: unknown;
  caller?: string;
}

/** A request that the core does not refuse, but for what is changed. */
export function requestOf(call: Call, change: Change = {}): Asked {
  const headers: Record<string, string> = {};
  if (bodySchema(call)) headers["content-type"] = "application/json";
  if ("101" in call.operation.responses) headers.upgrade = "websocket";
  let { path } = call;
  const query = change.query === undefined ? [] : [change.query];
  for (const parameter of call.parameters) {
    const { name, in: place } = parameter;
    const value = change.parameters?.[name] ?? given(parameter, OTHERWISE);
    if (value === undefined) continue;
    const encoded = encodeURIComponent(`${value}`);
    if (place === "path") path = path.replace(`{${name}}`, name === "path" ? `${value}` : encoded);
    if (place === "query") query.push(`${name}=${encoded}`);
    if (place === "header") headers[name] = `${value}`;
  }
  const body = change.body ?? leastBody(call);
  return {
    method: call.method.toUpperCase(),
    path: query.length > 0 ? `${path}?${query.join("&")}` : path,
    headers: { ...headers, ...change.headers },
    ...(change.caller !== undefined && { caller: change.caller }),
    ...(body !== undefined && { body }),
  };
}
