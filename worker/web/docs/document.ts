import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parse } from "yaml";

// The API's document (OpenAPI 3.1), made of docs/openapi.yaml, which is written by hand.

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A JSON Schema, as far as it is looked into here. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema | false>;
  required?: string[];
  additionalProperties?: Schema | false;
  items?: Schema;
  allOf?: Schema[];
  oneOf?: Schema[];
  not?: Schema;
  enum?: Json[];
  const?: Json;
  default?: Json;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  maxProperties?: number;
  pattern?: string;
}

export type Examples = Record<string, { value: Json }>;
export interface Media {
  schema: Schema;
  examples?: Examples;
  example?: Json;
  /** Of a stream: the schema of each event's data, by its name. */
  "x-events"?: Record<string, string>;
}
export interface Reference {
  $ref: string;
}
export interface Header {
  description: string;
  required?: boolean;
  schema: Schema;
}
export interface Answer {
  description: string;
  headers?: Record<string, Header | Reference>;
  content?: Record<string, Media>;
  /** Of a WebSocket: the schemas of the texts that its two ends send. */
  "x-messages"?: { server?: string; client?: string };
}
export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description: string;
  schema: Schema;
  examples?: Examples;
}
export interface Operation {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: (Parameter | Reference)[];
  requestBody?: { required: boolean; content: Record<string, Media> };
  responses: Record<string, Answer | Reference>;
  security: Record<string, string[]>[];
  "x-scope": string;
  /** Codes of errors, sorted by their status. */
  "x-errors": string[];
  /** It stands for every other method as well. */
  "x-any-method"?: true;
}
/** A path's parameters, and its calls by their methods. */
export type Path = { parameters?: (Parameter | Reference)[] } & { [method in Method]?: Operation };
export interface ErrorKind {
  status: number;
  when: string;
  headers?: string[];
  message: string;
  details?: Record<string, string[]>;
}
export interface Document {
  openapi: string;
  info: { title: string; summary: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Path>;
  components: {
    schemas: Record<string, Schema>;
    headers: Record<string, Header>;
    parameters: Record<string, Parameter>;
    responses: Record<string, Answer>;
    securitySchemes: Record<string, { description: string }>;
  };
  "x-errors": Record<string, ErrorKind>;
}

export const METHODS = ["get", "head", "post", "put", "patch", "delete", "options"] as const;
export type Method = (typeof METHODS)[number];

export type Dialect = "rooms" | "v1" | "sdk";
export function dialectOf(path: string): Dialect {
  if (path.startsWith("/v1/")) return "v1";
  return path === "/api/sandboxes" || path.startsWith("/api/sandboxes/") ? "sdk" : "rooms";
}

/** What stands behind a reference into the document, or what is no reference. */
export function resolved<T extends object>(document: Document, part: T | Reference): T {
  if (!("$ref" in part)) return part;
  const names = part.$ref.slice("#/".length).split("/");
  // biome-ignore lint/suspicious/noExplicitAny: a reference may lead anywhere
  return names.reduce((at: any, name) => at[name], document);
}

/** The calls of a path. */
export function operationsAt(path: Path): [Method, Operation][] {
  return METHODS.flatMap((method) => (path[method] ? [[method, path[method]] as [Method, Operation]] : []));
}

/** A call as it is written: what it is refused with is named, and who may make it. */
type Written = Omit<Operation, "security"> & { "x-refusals"?: Record<string, Refusal> };
/** An error that the request of the same name is answered with. */
interface Refusal {
  code: string;
  message: string;
  details?: Record<string, string[]>;
}
interface Source extends Omit<Document, "paths"> {
  paths: Record<string, Path & { "x-any"?: Written }>;
  "x-error-groups": Record<string, string[]>;
  "x-answers"?: unknown;
}

const file = (name: string) => readFileSync(resolve(import.meta.dirname, "../../..", name), "utf8");

/** Reads the source and fills in what can be told from it. */
export function readDocument(): Document {
  const source = parse(file("docs/openapi.yaml"), { merge: true, maxAliasCount: -1 }) as Source;
  source.info.version = JSON.parse(file("package.json")).version;
  source.components.responses = {};
  source.components.schemas.ErrorCode = { type: "string", enum: Object.keys(source["x-errors"]) };
  for (const [path, item] of Object.entries(source.paths)) {
    spread(item);
    for (const [method, operation] of operationsAt(item)) complete(source, dialectOf(path), method, operation);
  }
  const { "x-answers": _, "x-error-groups": __, ...document } = source;
  return document;
}

/** A call of any method becomes one of each. */
function spread(item: Path & { "x-any"?: Written }): void {
  const { "x-any": any } = item;
  if (!any) return;
  delete item["x-any"];
  for (const method of METHODS) {
    const operationId = any.operationId + method.charAt(0).toUpperCase() + method.slice(1);
    item[method] = { ...structuredClone(any), operationId, "x-any-method": true, security: [] };
  }
}

function complete(source: Source, dialect: Dialect, method: Method, operation: Operation & Partial<Written>): void {
  const { "x-refusals": refusals = {}, "x-errors": errors = [], "x-scope": scope } = operation;
  delete operation["x-refusals"];
  const groups = ["any", ...errors].flatMap((name) => source["x-error-groups"][name] ?? [name]);
  const order = Object.keys(source["x-errors"]);
  const codes = order.filter((code) => groups.includes(code));
  operation["x-errors"] = codes;
  operation.security = securityOf(scope, dialect, method);
  operation.responses = structuredClone(operation.responses); // they may be written once for several calls
  for (const status of new Set(codes.map((code) => kindOf(source, code).status))) {
    const same = codes.filter((code) => kindOf(source, code).status === status);
    const named = Object.entries(refusals).filter(([, { code }]) => same.includes(code));
    operation.responses[status] = errorAnswer(source, dialect, same, Object.fromEntries(named));
  }
  for (const [status, answer] of Object.entries(operation.responses)) {
    const isServers = operation["x-any-method"] && !(Number(status) >= 400); // it keeps one of its own
    if (!("$ref" in answer) && !isServers) withRequestId(answer);
  }
}

function securityOf(scope: string, dialect: Dialect, method: Method): Record<string, string[]>[] {
  if (scope === "none") return [];
  const roles = scope === "all" ? [] : [scope]; // what is of no one room is for API keys alone
  const isSocket = method === "get" && (scope === "attach" || scope === "ports");
  const schemes = ["bearer", "apiKey", ...(isSocket ? ["protocol", "ticket"] : [])];
  if (isSocket && dialect === "sdk") schemes.push("sdkKey", "sdkToken");
  return schemes.map((scheme) => ({ [scheme]: roles }));
}

function kindOf(source: Source, code: string): ErrorKind {
  const kind = source["x-errors"][code];
  if (!kind) throw new Error(`docs/openapi.yaml: there is no error ${code}`);
  return kind;
}

/** Errors of one status. Those without examples that are the call's own are written once for all calls. */
function errorAnswer(source: Source, dialect: Dialect, codes: string[], refusals: Record<string, Refusal>) {
  const kinds = codes.map((code) => kindOf(source, code));
  const isOwn = Object.keys(refusals).length > 0;
  const rendered = Object.entries(refusals).map(([name, refusal]) => [name, { value: render(refusal, dialect) }]);
  const [first = ""] = codes;
  const answer: Answer = {
    description: codes.map((code, at) => `\`${code}\`: ${kinds[at]?.when}`).join(" "),
    headers: Object.fromEntries(
      kinds.flatMap(({ headers = [] }) => headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]),
    ),
    content: {
      "application/json": {
        schema: errorSchema(codes, dialect),
        ...(isOwn
          ? { examples: Object.fromEntries(rendered) }
          : { example: render({ code: first, ...kindOf(source, first) }, dialect) }),
      },
    },
  };
  if (isOwn) return answer;
  const name = [dialect, ...codes].join(".");
  source.components.responses[name] ??= withRequestId(answer);
  return { $ref: `#/components/responses/${name}` };
}

/** An error as the dialect words it: wasm/protocol/error.cpp. */
function render({ code, message, details }: Refusal, dialect: Dialect): Json {
  if (dialect === "rooms") return { error: message, ...(details && { details }), code };
  const [[field, [fault]] = [undefined, []]] = Object.entries(details ?? {});
  const summary = field === undefined ? message : `${field}: ${fault}`;
  if (dialect === "sdk") return { error: summary, code };
  return { error: { message: summary, type: code, ...(details && { details }) } };
}

function errorSchema(codes: string[], dialect: Dialect): Schema {
  const [name, code] = { rooms: ["RoomsError", "code"], v1: ["V1Error", "type"], sdk: ["SdkError", "code"] }[dialect];
  const own: Schema = { properties: { [code as string]: { enum: codes } } };
  return { allOf: [{ $ref: `#/components/schemas/${name}` }, dialect === "v1" ? { properties: { error: own } } : own] };
}

function withRequestId(answer: Answer): Answer {
  answer.headers = { ...answer.headers, "X-Request-Id": { $ref: "#/components/headers/X-Request-Id" } };
  return answer;
}
