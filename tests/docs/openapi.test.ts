import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { dialectOf, METHODS, resolved } from "../../worker/web/docs/document.ts";
import { pageOf } from "../../worker/web/docs/page.ts";
import { type Call, calls, contract, exchangesOf, faultsOf, given, OTHERWISE } from "./contract";
import { answerTo, tables } from "./core";
import { bodySchema, type Change, requestOf } from "./requests";

// The API's document against a public validator, and against the core: every call and error of the one is in the other.

it("is valid OpenAPI 3.1 by a public validator", async () => {
  const validator = new Validator();
  expect(await validator.validate(JSON.parse(JSON.stringify(contract)))).toEqual({ valid: true });
  expect(validator.version).toBe("3.1");
});

const idOf = ({ operation }: Call) => operation.operationId;

describe("calls", () => {
  it("are those of the core's table, and no more", () => {
    const line = (method: string, path: string, dialect: string, scope: string, stream: boolean) =>
      `${method} ${path} of ${dialect} for ${scope}${stream ? ", a stream" : ""}`;
    const rows = tables.routes.flatMap(({ method, pattern, dialect, scope, stream }) => {
      const methods = method === "*" ? METHODS : [method.toLowerCase()];
      return methods.map((each) => line(each, pattern, dialect, scope, stream));
    });
    const documented = calls.map(({ method, path, operation, answers }) => {
      const whole = answers.filter(
        ([status, { content = {} }]) => status === "200" && !("text/event-stream" in content),
      );
      const isStream = method === "get" && whole.length === 0;
      return line(method, path, dialectOf(path), operation["x-scope"], isStream);
    });
    expect(documented.toSorted()).toEqual(rows.toSorted());
  });

  it("have an id each, and name every parameter of their path", () => {
    expect(new Set(calls.map(idOf)).size).toBe(calls.length);
    for (const { path, parameters } of calls) {
      const inPath = parameters.filter((parameter) => parameter.in === "path").map(({ name }) => `{${name}}`);
      expect(inPath.toSorted()).toEqual((path.match(/\{\w+\}/g) ?? []).toSorted());
    }
  });

  it.each(calls)("are for whom the document says: $operation.operationId", async (call) => {
    const { security, "x-scope": scope } = call.operation;
    const isOpen = scope === "none";
    const [room] = call.parameters.filter(({ name }) => name === "roomID" || name === "id");
    const statusFor = async (caller: string) => (await answerTo(requestOf(call, { caller })))?.status ?? 200;
    expect(await statusFor("missing")).toBe(isOpen ? 200 : 401);
    for (const each of ["exec", "attach", "files", "ports", "read", "delete"]) {
      const status = await statusFor(`token ${each} ${room ? given(room, OTHERWISE) : ""}`);
      expect(status !== 403, each).toBe(isOpen || each === scope);
    }
    expect(security.length > 0).toBe(!isOpen);
    for (const roles of security.flatMap(Object.values)) expect(roles).toEqual(scope === "all" ? [] : [scope]);
  });
});

type Answered = Awaited<ReturnType<typeof answerTo>>;

/** Holds an answer of the core against what the document has for its status. */
function expectDocumented(call: Call, answer: Answered): void {
  const [, documented] = call.answers.find(([status]) => status === `${answer?.status}`) ?? [];
  const schema = documented?.content?.["application/json"]?.schema;
  if (!schema) throw new Error(`${idOf(call)} has no answer ${answer?.status}`);
  expect(faultsOf(schema, answer?.json), idOf(call)).toBe("");
  for (const [name, part] of Object.entries(documented.headers ?? {})) {
    const header = resolved(contract, part);
    if (header.required) expect(faultsOf(header.schema, answer?.headers.get(name)), name).toBe("");
  }
}

describe("errors", () => {
  it("are those of the core's table, by code and status", () => {
    const kinds = Object.entries(contract["x-errors"]).map(([code, { status }]) => [code, status]);
    expect(Object.fromEntries(kinds)).toEqual(tables.errors);
    expect(contract.components.schemas.ErrorCode?.enum).toEqual(Object.keys(tables.errors));
    const used = new Set(["method_not_allowed", ...calls.flatMap(({ operation }) => operation["x-errors"])]);
    expect([...used].toSorted()).toEqual(Object.keys(tables.errors).toSorted());
  });

  const isKnown = ({ operation }: Call) => operation["x-scope"] !== "none";
  const isSocket = ({ operation }: Call) => "101" in operation.responses;
  const hasBody = ({ operation }: Call) => operation.requestBody !== undefined;
  const hasBound = (call: Call) => hasBody(call) && !/\/files(\/|$)/.test(call.path);
  const all = () => true;

  /** What provokes an error, and in which calls. */
  const PROVOKED: [code: string, (call: Call) => boolean, Change][] = [
    ["unauthorized", isKnown, { caller: "missing" }],
    ["internal", isKnown, { caller: "unreadable TOKEN_KEY" }],
    ["forbidden", all, { headers: { origin: "https://other.example", upgrade: "websocket" } }],
    ["headers_too_large", all, { headers: { cookie: "a".repeat(33_000) } }],
    ["url_too_long", all, { query: "a".repeat(15_000) }],
    [
      "unsupported_media_type",
      (call) => bodySchema(call) !== undefined,
      { headers: { "content-type": "text/plain" }, body: "{}" },
    ],
    ["unsupported_media_type", hasBody, { headers: { "content-encoding": "gzip" } }],
    ["payload_too_large", hasBound, { headers: { "content-length": "5000000" } }],
    ["upgrade_required", isSocket, { headers: { upgrade: "h2c" } }],
  ];

  it.each(PROVOKED)("%s is answered as documented, where it can be", async (code, has, change) => {
    const concerned = calls.filter(has);
    expect(concerned.length).toBeGreaterThan(2);
    for (const call of concerned) {
      const answer = await answerTo(requestOf(call, change));
      expect(JSON.stringify(answer?.json), idOf(call)).toContain(`"${code}"`);
      expect(call.operation["x-errors"]).toContain(code);
      expectDocumented(call, answer);
    }
  });

  it("that the core answers the examples with are theirs, word for word", async () => {
    let count = 0;
    for (const call of calls) {
      for (const { name, status, example, body } of exchangesOf(call)) {
        const parameters = Object.fromEntries(call.parameters.map((each) => [each.name, given(each, name)]));
        const answer = await answerTo(requestOf(call, { parameters, body: body?.value }));
        if (!answer || answer.status < 400) continue;
        count += 1;
        expect([answer.status, answer.json], `${idOf(call)} ${name}`).toEqual([status, example]);
        expectDocumented(call, answer);
      }
    }
    expect(count).toBeGreaterThan(30);
  });
});

describe("examples", () => {
  it.each(calls)("of $operation.operationId are as their schemas have them", (call) => {
    const refused = new Set<string>();
    for (const { name, media, example, body, status } of exchangesOf(call)) {
      if (media) expect(faultsOf(media.schema, example), name).toBe("");
      if (status >= 400) refused.add(name);
      const schema = body && call.operation.requestBody?.content[body.type]?.schema;
      if (schema && status < 400) expect(faultsOf(schema, body.value), name).toBe("");
    }
    for (const [, { content = {} }] of call.answers)
      for (const { schema, example } of Object.values(content)) if (example) expect(faultsOf(schema, example)).toBe("");
    for (const { name, schema, examples = {} } of call.parameters) {
      const own = exchangesOf(call).map((each) => examples[each.name] ?? examples.usual);
      const sound = own.filter((each, at) => each && !refused.has(exchangesOf(call)[at]?.name ?? ""));
      for (const each of sound) expect(faultsOf(schema, each?.value), name).toBe("");
    }
  });

  it.each(calls)("of $operation.operationId have one answer each, and one that is no error", (call) => {
    const exchanges = exchangesOf(call);
    const names = exchanges.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(exchanges.some(({ status }) => status < 400)).toBe(true);
    const bodies = Object.values(call.operation.requestBody?.content ?? {}).map(({ examples = {} }) => examples);
    expect(names).toEqual(expect.arrayContaining(bodies.flatMap(Object.keys)));
  });
});

it("has a page without scripts, whose links lead somewhere", () => {
  const page = pageOf(contract);
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
  const links = [...page.matchAll(/ href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links.filter((id) => !ids.has(id))).toEqual([]);
  for (const { operation } of calls) if (!operation["x-any-method"]) expect(ids).toContain(operation.operationId);
  expect(page).not.toMatch(/<script|<style| style=| on[a-z]+=|undefined/);
});
