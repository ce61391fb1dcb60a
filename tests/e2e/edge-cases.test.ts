import { expect, it } from "vitest";
import { bodyOf, edgeCases } from "../cases";
import { rawRequest, sandboxContainers } from "./client";

const before = sandboxContainers();
const answered = edgeCases.filter(({ expect }) => expect.action === "answer");

it.each(answered.map((each) => [each.name, each] as const))("%s", async (_, each) => {
  const { method, path, headers = {} } = each.request;
  const answer = await rawRequest(method, path, headers, bodyOf(each));
  expect(answer.status).toBe(each.expect.status);
  for (const [name, value] of Object.entries(each.expect.headers ?? {})) {
    expect(answer.headers[name.toLowerCase()]).toBe(value);
  }
  if (method === "HEAD") return;
  if (each.expect.json !== undefined) expect(JSON.parse(answer.text)).toEqual(each.expect.json);
  if (each.expect.text !== undefined) expect(answer.text).toBe(each.expect.text);
});

it("no container was started for any of them", () => {
  expect(sandboxContainers()).toEqual(before);
});
