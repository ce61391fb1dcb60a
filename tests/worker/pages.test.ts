import { exports } from "cloudflare:workers";
import { describe, expect, it } from "vitest";

const get = (path: string, init: RequestInit = {}) => exports.default.fetch(`http://localhost${path}`, init);

describe.each([
  ["/", 'id="open-form"'],
  ["/rooms/demo", 'id="room-name"'],
  ["/docs", "<title>The API"],
])("the page at %s", (path, own) => {
  it("is a page, under a policy that lets it run our scripts alone", async () => {
    const page = await get(path);
    expect(page.status).toBe(200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(page.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await page.text()).toContain(own);
  });

  it("is not sent to who has it", async () => {
    const etag = (await get(path)).headers.get("etag") ?? "";
    expect((await get(path, { headers: { "if-none-match": etag } })).status).toBe(304);
  });
});
