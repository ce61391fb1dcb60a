import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import {
  type Answer,
  type Json,
  type Media,
  type Method,
  type Operation,
  operationsAt,
  type Parameter,
  readDocument,
  resolved,
  type Schema,
} from "../../worker/web/docs/document.ts";

// The API's document, as those who hold something against it read it.

export const contract = readDocument();

/** A call of the document. */
export interface Call {
  method: Method;
  /** With the names of its parameters in braces. */
  path: string;
  operation: Operation;
  parameters: Parameter[];
  /** Those of every status, `default` too. */
  answers: [status: string, Answer][];
}

export const calls: Call[] = Object.entries(contract.paths).flatMap(([path, item]) =>
  operationsAt(item).map(([method, operation]) => ({
    method,
    path,
    operation,
    parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((part) => resolved(contract, part)),
    answers: Object.entries(operation.responses).map(([status, part]) => [status, resolved(contract, part)]),
  })),
);

export const callNamed = (id: string): Call => {
  const found = calls.find(({ operation }) => operation.operationId === id);
  if (!found) throw new Error(`the document has no call ${id}`);
  return found;
};

/** A request and its answer, by the name that their examples have in common. */
export interface Exchange {
  call: Call;
  name: string;
  status: number;
  answer: Answer;
  /** Undefined where the answer has no body. */
  type: string | undefined;
  media: Media | undefined;
  example: Json | undefined;
  body: { type: string; value: Json } | undefined;
}

/** A call's exchanges: one for each example of an answer, and one for its answer without a body if no example is of another. */
export function exchangesOf(call: Call): Exchange[] {
  const bodies = Object.entries(call.operation.requestBody?.content ?? {}).flatMap(([type, { examples = {} }]) =>
    Object.entries(examples).map(([name, { value }]) => [name, { type, value }] as const),
  );
  const body = new Map(bodies);
  const told = call.answers.flatMap(([status, answer]) =>
    Object.entries(answer.content ?? {}).flatMap(([type, media]) =>
      Object.entries(media.examples ?? {}).map(([name, { value }]) => ({ status, answer, type, media, name, value })),
    ),
  );
  const all = told.map(({ status, name, value, ...rest }) => {
    return { call, name, status: Number(status), ...rest, example: value, body: body.get(name) };
  });
  const silent = call.answers.find(([status, { content }]) => !content && ["101", "204"].includes(status));
  if (!silent) return all;
  const [status, answer] = silent;
  const rest = [...body.keys()].filter((name) => !told.some((each) => each.name === name));
  const names = rest.length > 0 || body.size > 0 ? rest : [OTHERWISE];
  const none = { type: undefined, media: undefined, example: undefined };
  const without = names.map((name) => ({ call, name, status: Number(status), answer, ...none, body: body.get(name) }));
  return [...all, ...without];
}

/** The name of an exchange for which there is nothing to name. */
export const OTHERWISE = "otherwise";

/** What a parameter is in an exchange; undefined where it is left out. */
export function given({ required, examples = {} }: Parameter, exchange: string): Json | undefined {
  return (examples[exchange] ?? (required ? examples.usual : undefined))?.value;
}

const ajv = new Ajv2020({ strict: false, allErrors: true, coerceTypes: false });
// biome-ignore lint/suspicious/noExplicitAny: the package's types are those of CommonJS
(addFormats as any)(ajv);

/** What of a value is not as the schema has it; empty if nothing is. Objects may have what the schema does not know. */
export const faultsOf = judge((schema) => ({ ...schema, components: contract.components }));

/** The same, where objects may have nothing else: what we answer is to be documented. */
export const strictFaultsOf = judge((schema) =>
  closed({ ...schema, components: { schemas: contract.components.schemas } }),
);

/** @param whole puts what a schema refers to where it can be found */
function judge(whole: (schema: Schema) => object): (schema: Schema, value: unknown) => string {
  const compiled = new WeakMap<Schema, ValidateFunction>();
  return (schema, value) => {
    const validate = compiled.get(schema) ?? ajv.compile(whole(schema));
    compiled.set(schema, validate);
    return validate(value) ? "" : ajv.errorsText(validate.errors);
  };
}

/** A schema whose objects have the properties that it names, and no other. */
function closed<T>(part: T): T;
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, closed(value)]));
  const isOpen = copy.type !== undefined && "properties" in copy && !("additionalProperties" in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}
