import { describe, expect, it } from "vitest";
import { HEAD_FIELDS } from "../../worker/edge";
import type { Json, Parameter, Schema } from "../../worker/web/docs/document.ts";
import { type Call, calls, contract, faultsOf } from "./contract";
import { answerTo, faultsIn, tables } from "./core";
import { behind, bodySchema, leastBody, requestOf } from "./requests";

// Every field and parameter of the document against the core: what the schema of the one refuses the other does too, and nothing else.
// Tried are values of all kinds, and what lies at the bounds: those of the schema, and those that the core itself tells.

const verdict = (fault: unknown) => (fault ? "refused" : "taken");
const records = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, ""]));

const VALUES: Json[] = [
  ...[null, true, false, 0, 1, -1, 0.5, 1.5, 8079, 8080, 8081, [], {}, [1], [""], ["a"], ["a\0"], ["exec", "read"]],
  ...["", "a", "/a", "A-z_9", "a b", "a\0", "/a\0", "utf8", "base", "SIGTERM", "true", "a".repeat(32), "a".repeat(33)],
  ...[{ a: 1 }, { a: "x" }, { "1a": "x" }, { a: "\0" }, records(4096), records(4097)],
  ...[{ cols: 80 }, { cols: 80, rows: 24 }, { cols: 0 }, { rows: 4096 }, { rows: 4097 }, { rows: "1" }],
  ...[["exec"], ["exec", "none"], ["a".repeat(131_071)], ["a".repeat(131_072)]],
];

/** @param told what the core says of what is far out of bounds */
function valuesFor(schema: Schema, told: string): Json[] {
  const { minimum = 0, maximum = 0, minLength = 0, maxLength = 0, enum: options = [] } = schema;
  const numbers = [...told.matchAll(/[<>]=(-?[\d.]+)/g)].map(([, number]) => Number(number));
  const bounds = [...new Set([minimum, maximum, minLength, maxLength, ...numbers])];
  const around = bounds.flatMap((bound) => [bound - 1, bound - 0.5, bound, bound + 0.5, bound + 1]);
  const lengths = [schema.type].flat().includes("string")
    ? around.filter((each) => Number.isInteger(each) && each > 0)
    : [];
  const texts = lengths.flatMap((length) => ["a".repeat(length), "/".padEnd(length, "a")]);
  return [...VALUES, ...options, ...around, ...texts];
}

/** Rules between fields, which no field's own schema tells. */
const BETWEEN = /^(Cannot be combined with|Only with)/;

describe.each(calls.filter(bodySchema))("the body of $operation.operationId", (call) => {
  const schema = bodySchema(call) as Schema & { properties: Record<string, Schema> };
  const names = [...new Set(Object.values(tables.bodies).flatMap((fields) => fields.map(({ name }) => name)))];
  const faultsFor = async (body: unknown) => {
    const answer = await answerTo(requestOf(call, { body }));
    return answer?.status === 400 ? faultsIn(answer.json) : {};
  };

  it("has the fields that the core takes, and needs those that it needs", async () => {
    const taken: string[] = [];
    for (const name of names) {
      const [fault] = (await faultsFor({ ...leastBody(call), [name]: null }))[name] ?? [];
      if (!fault?.startsWith("Unrecognized key")) taken.push(name);
    }
    expect(Object.keys(schema.properties).toSorted()).toEqual(taken.toSorted());
    for (const name of taken) {
      const { [name]: _, ...without } = leastBody(call) ?? {};
      const isNeeded = (await faultsFor(without))[name] !== undefined;
      expect(schema.required?.includes(name) ?? false, name).toBe(isNeeded);
    }
    expect(call.operation.requestBody?.required).toBe((schema.required ?? []).length > 0);
    expect(schema.additionalProperties).toBe(false);
  });

  it.each(Object.entries(schema.properties))("takes as %s what its schema has", async (name, own) => {
    const refusal = async (value: Json) => {
      const faults = (await faultsFor({ ...leastBody(call), [name]: value }))[name] ?? [];
      return faults.filter((fault) => !BETWEEN.test(fault)).join();
    };
    const told = [await refusal(-1e300), await refusal(1e300), await refusal("/".padEnd(1 << 21, "a"))].join();
    for (const value of valuesFor(behind(own), told)) {
      const refused = await refusal(value);
      if (refused && name === "signal" && typeof value === "string") continue; // its names are too many to list
      expect(verdict(faultsOf(own, value)), JSON.stringify(value).slice(0, 60)).toBe(verdict(refused));
    }
  });
});

it("names the fields of what an attached client may send", () => {
  const { properties = {}, required } = contract.components.schemas.AttachControl ?? {};
  const fields = tables.bodies.control ?? [];
  expect(Object.keys(properties)).toEqual(fields.map(({ name }) => name));
  expect(required).toEqual(fields.filter((field) => field.required).map(({ name }) => name));
});

describe("parameters", () => {
  const NUMBERS = "0 1 100 101 60000 60001 65535 65536 8080 -1 1.5 1e3".split(" ");
  const WORDS = "a true false TRUE running failed exec_a exec_ exec_A exec_a_ a_b.c-d -a a- /a a/b *".split(" ");
  const LENGTHS = [64, 65, 69, 70, 255, 256, 4094, 4095, 4096];
  const long = LENGTHS.flatMap((length) => ["a", "exec_", "/"].map((start) => start.padEnd(length, "a")));
  /** Whose values nobody knows but who gave them. */
  const OPAQUE = ["cursor", "If-Range", "If-Match", "If-None-Match", "Range"];

  const isServers = (call: Call, { name }: Parameter) => name === "path" && call.path.includes("/ports/");
  const checked = (call: Call) =>
    call.parameters.filter((parameter) => !OPAQUE.includes(parameter.name) && !isServers(call, parameter));

  /** A value as its parameter's type has it. */
  function read(text: string, { type }: Schema): Json {
    if (type === "integer" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
    return type === "boolean" && /^(true|false)$/.test(text) ? text === "true" : text;
  }

  async function isRefused(call: Call, { name }: Parameter, value: string): Promise<boolean> {
    const answer = await answerTo(requestOf(call, { parameters: { [name]: value } }));
    if (answer?.status === 404) return name === "executionID" || name === "port";
    return answer?.status === 400 && faultsIn(answer.json)[name] !== undefined;
  }

  it.each(calls.filter((call) => checked(call).length > 0))(
    "of $operation.operationId are taken as their schemas have them",
    async (call) => {
      for (const parameter of checked(call)) {
        const schema = behind(parameter.schema);
        for (const text of [...NUMBERS, ...WORDS, ...long]) {
          if (text.includes("/") && parameter.in === "path") continue; // it leads to another path
          const refused = await isRefused(call, parameter, text);
          const said = `${parameter.name}=${text.slice(0, 20)}`;
          expect(verdict(faultsOf(schema, read(text, schema))), said).toBe(verdict(refused));
        }
      }
    },
  );

  it("of the query are those that each call looks at", async () => {
    const inQuery = calls.flatMap(({ parameters }) => parameters.filter((each) => each.in === "query"));
    for (const call of calls) {
      const own = call.parameters.map(({ name }) => name);
      for (const name of new Set(inQuery.map((each) => each.name))) {
        if (own.includes(name)) continue;
        const answer = await answerTo(requestOf(call, { query: `${name}=%00` }));
        const isRead = answer?.status === 400 && faultsIn(answer.json)[name] !== undefined;
        expect(isRead, `${call.operation.operationId} ${name}`).toBe(false);
      }
    }
  });

  it("of the head are those that the core reads, with what is HTTP's own", () => {
    const inHead = calls.flatMap(({ parameters }) => parameters.filter((each) => each.in === "header"));
    const http = "content-type content-length content-encoding upgrade origin".split(" ");
    const cors = ["access-control-request-method", "access-control-request-headers"];
    const names = new Set([...inHead.map(({ name }) => name.toLowerCase()), ...http, ...cors]);
    expect([...names].toSorted()).toEqual([...HEAD_FIELDS].toSorted());
  });
});
