import { marked } from "marked";
import {
  type Answer,
  type Document,
  type Examples,
  type Json,
  type Media,
  type Operation,
  operationsAt,
  type Parameter,
  resolved,
  type Schema,
} from "./document.ts";

// The document as a page to read: without scripts, made when it is built.

/** HTML, as against text that has yet to be escaped. */
class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | undefined | Part[];

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return part.map(textOf).join("");
  return `${part ?? ""}`
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

const html = (strings: TemplateStringsArray, ...parts: Part[]): Html =>
  new Html(strings.map((string, at) => string + textOf(parts[at])).join(""));
/** Markdown, of one paragraph or of several. */
const inline = (text = "") => new Html(marked.parseInline(text, { async: false }));
const block = (text = "") => new Html(marked.parse(text, { async: false }));
const separated = (parts: Html[], separator: string): Part[] =>
  parts.flatMap((part, at) => (at > 0 ? [separator, part] : [part]));

export function pageOf(document: Document): string {
  const groups = document.tags.map((tag) => ({ ...tag, calls: callsOf(document, tag.name) }));
  return textOf(html`<header>
<h1>${document.info.title} <small>${document.info.version}</small></h1>
${block(document.info.description)}
<p>This page as a document for programs: <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).</p>
</header>
<nav aria-label="Contents">${groups.map(contentsOf)}
<p><a href="#errors">Errors</a></p><p><a href="#objects">Objects</a></p></nav>
<main>${groups.map((group) => sectionOf(document, group))}
${errorsOf(document)}
${objectsOf(document)}</main>`);
}

interface Call {
  verb: string;
  path: string;
  operation: Operation;
  parameters: Parameter[];
}
interface Group {
  name: string;
  description: string;
  calls: Call[];
}

/** Those of a tag; one of any method once. */
function callsOf(document: Document, tag: string): Call[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    operationsAt(item)
      .filter(([method, operation]) => operation.tags.includes(tag) && (!operation["x-any-method"] || method === "get"))
      .map(([method, operation]) => ({
        verb: operation["x-any-method"] ? "ANY" : method.toUpperCase(),
        path,
        operation,
        parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map((part) =>
          resolved(document, part),
        ),
      })),
  );
}

const idOf = (name: string) =>
  name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replace(/^-/, "");
const lineOf = ({ verb, path }: Call) => html`<b class="verb">${verb}</b> <code>${path}</code>`;

const contentsOf = ({ name, calls }: Group) => html`<h2><a href="#${idOf(name)}">${name}</a></h2>
<ul>${calls.map((call) => html`<li><a href="#${call.operation.operationId}"><b class="verb">${call.verb}</b> ${call.operation.summary}</a></li>`)}</ul>`;

const sectionOf = (document: Document, { name, description, calls }: Group) => html`<section id="${idOf(name)}">
<h2>${name}</h2>${block(description)}
${calls.map((call) => callOf(document, call))}</section>`;

const SCOPES: Record<string, string> = { none: "for anybody", all: "for API keys alone" };

const successes = ({ responses }: Operation) =>
  Object.entries(responses).filter(([status]) => !(Number(status) >= 400));

function callOf(document: Document, call: Call): Html {
  const { operation, parameters } = call;
  const [[, media] = []] = Object.entries(operation.requestBody?.content ?? {});
  const body = media && resolved(document, media.schema as Schema & { $ref: string });
  const answers = successes(operation);
  const scope = operation["x-scope"];
  return html`<article id="${operation.operationId}">
<h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
<p class="line">${lineOf(call)} <span>${SCOPES[scope] ?? `scope ${scope}`}</span></p>
${block(operation.description)}
${
  parameters.length > 0
    ? tableOf(
        "Parameters",
        parameters.map((each) => parameterOf(document, each)),
      )
    : ""
}
${body?.properties ? tableOf("Body", fieldsOf(document, body)) : media ? html`<h4>Body</h4><p>Bytes.</p>` : ""}
<h4>Answers</h4>
<dl>${answers.map(([status, answer]) => answerOf(document, status, resolved(document, answer)))}</dl>
<p class="errors">Errors: ${separated(
    operation["x-errors"].map(
      (code) => html`<a href="#${code}">${document["x-errors"][code]?.status} <code>${code}</code></a>`,
    ),
    ", ",
  )}</p>
${exampleOf(document, call)}</article>`;
}

function answerOf(
  document: Document,
  status: string,
  { description, headers = {}, content = {}, "x-messages": messages }: Answer,
): Html {
  const names = Object.keys(headers).filter((name) => name !== "X-Request-Id"); // every answer has it
  const headed =
    names.length > 0 &&
    html`<li>${separated(
      names.map((name) => html`<code>${name}</code>`),
      ", ",
    )}</li>`;
  const types = Object.entries(content).map(
    ([type, media]) => html`<li><code>${type}</code>: ${mediaOf(document, media)}</li>`,
  );
  const said = Object.entries(messages ?? {}).map(([end, name]) => html`<li>Texts of the ${end}: ${linkTo(name)}</li>`);
  return html`<dt>${status}</dt><dd>${inline(description)}<ul>${headed || ""}${types}${said}</ul></dd>`;
}

function mediaOf(document: Document, { schema, "x-events": events }: Media): Part {
  if (!events) return typeOf(document, schema);
  return [
    "events ",
    ...separated(
      Object.entries(events).map(([name, data]) => html`<code>${name}</code> (${linkTo(data)})`),
      ", ",
    ),
  ];
}

const tableOf = (title: string, rows: Html[]) => html`<h4>${title}</h4><div class="wide"><table>${rows}</table></div>`;

const fieldsOf = (document: Document, { properties = {}, required = [] }: Schema): Html[] =>
  Object.entries(properties).flatMap(([name, schema]) =>
    schema ? [rowOf(document, name, schema, required.includes(name))] : [],
  );

function rowOf(document: Document, name: string, schema: Schema, isRequired = false, place = "", said?: string): Html {
  const description = said ?? schema.description ?? resolved(document, schema as Schema & { $ref: string }).description;
  const notes = [place, isRequired ? "required" : ""].filter(Boolean).join(", ");
  return html`<tr><th scope="row"><code>${name}</code>${notes && html` <small>${notes}</small>`}</th><td>${typeOf(document, schema)}</td><td>${inline(description)}</td></tr>`;
}

const parameterOf = (document: Document, { name, schema, required, in: place, description }: Parameter) =>
  rowOf(document, name, schema, required, place, description);

const linkTo = (name: string) => html`<a href="#object-${name}">${name}</a>`;

/** A type in words: what has fields of its own by its name. */
function typeOf(document: Document, schema: Schema): Part {
  const target = resolved(document, schema as Schema & { $ref: string });
  if (schema.$ref && isObject(target)) return linkTo(schema.$ref.split("/").at(-1) ?? "");
  if (target.oneOf)
    return separated(
      target.oneOf.map((each) => html`${typeOf(document, each)}`),
      " or ",
    );
  if (target.enum)
    return separated(
      target.enum.map((each) => html`<code>${`${each}`}</code>`),
      ", ",
    );
  if (target.const !== undefined) return html`<code>${`${target.const}`}</code>`;
  const items = target.items ? html` of ${typeOf(document, target.items)}` : "";
  const fields = !schema.$ref && target.properties ? html`: ${separated(namesOf(document, target), ", ")}` : "";
  const name = [target.type ?? "any"].flat().join(" or ");
  return [name, items, fields, ...rulesOf(target).map((rule) => html`, ${rule}`)];
}

const namesOf = (document: Document, { properties = {} }: Schema) =>
  Object.entries(properties).map(
    ([name, schema]) => html`<code>${name}</code> (${schema ? typeOf(document, schema) : ""})`,
  );

/** Of a pattern that a reader need not see: that there is no NUL goes without saying. */
const NO_NUL = "[^\\u0000]";

function rulesOf({
  minimum,
  maximum,
  maxLength,
  maxItems,
  maxProperties,
  pattern,
  default: usual,
  format,
}: Schema & { format?: string }): Part[] {
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum !== undefined && `at least ${minimum}`;
  const most = maxLength ?? maxItems ?? maxProperties;
  return [
    ...(range ? [range] : []),
    ...(most !== undefined ? [`at most ${most}`] : []),
    ...(format ? [format] : pattern && !pattern.includes(NO_NUL) ? [html`<code>${pattern}</code>`] : []),
    ...(usual !== undefined ? [html`<code>${`${usual}`}</code> if absent`] : []),
  ];
}

const isObject = ({ properties, items }: Schema) =>
  Boolean(properties && Object.keys(properties).length > 0) || Boolean(items);

function errorsOf(document: Document): Html {
  const rows = Object.entries(document["x-errors"]).map(([code, { status, when }]) => {
    return html`<tr id="${code}"><th scope="row">${status} <code>${code}</code></th><td>${when}</td></tr>`;
  });
  return html`<section id="errors"><h2>Errors</h2>
<p>${linkTo("RoomsError")} of rooms, ${linkTo("V1Error")} of /v1/sandboxes, ${linkTo("SdkError")} of /api/sandboxes.</p>
<div class="wide"><table>${rows}</table></div></section>`;
}

function objectsOf(document: Document): Html {
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => isObject(schema));
  const articles = objects.map(([name, schema]) => {
    const { properties } = schema.items ?? schema;
    const fields = tableOf(schema.items ? "Each" : "Fields", fieldsOf(document, schema.items ?? schema));
    return html`<article id="object-${name}"><h3>${name}</h3>${block(schema.description)}${properties ? fields : ""}</article>`;
  });
  return html`<section id="objects"><h2>Objects</h2>${articles}</section>`;
}

/** The first example of a call, and what is answered. */
function exampleOf(document: Document, { verb, path, operation, parameters }: Call): Html {
  const [[type, { examples = {} }] = ["", {} as { examples?: Examples }]] = Object.entries(
    operation.requestBody?.content ?? {},
  );
  const [[name, body] = ["", undefined]] = Object.entries(examples);
  const method = verb === "ANY" ? "GET" : verb;
  const isSocket = "101" in operation.responses;
  const url = parameters.reduce((at, { in: place, name: parameter, examples: values }) => {
    const value = `${(values?.[name] ?? values?.usual)?.value ?? ""}`;
    if (place === "path") return at.replace(`{${parameter}}`, value);
    return place === "query" && value ? `${at}?${parameter}=${value}` : at;
  }, path);
  const lines = [
    `curl ${method === "GET" ? "" : `-X ${method} `}"$ROOMBOX${url}"`,
    ...(operation["x-scope"] === "none" ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(isSocket ? ['-H "Connection: Upgrade" -H "Upgrade: websocket"'] : []),
    ...(body ? [`-H "Content-Type: ${type}" --data-binary ${quoted(body.value)}`] : []),
  ];
  const answers = successes(operation).flatMap(([, part]) => Object.values(resolved(document, part).content ?? {}));
  const found = answers
    .map(({ examples: all = {} }) => all[name] ?? (name ? undefined : Object.values(all)[0]))
    .find(Boolean);
  return html`<h4>Example</h4><pre><code>${lines.join(" \\\n  ")}</code></pre>${found ? html`<pre><code>${shown(found.value)}</code></pre>` : ""}`;
}

const shown = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
/** A text as bash takes it. */
function quoted(value: Json): string {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replaceAll("'", "'\\''");
  return text.includes("\n") ? `$'${text.replaceAll("\n", "\\n")}'` : `'${text}'`;
}
