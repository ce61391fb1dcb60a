import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, it, vi } from "vitest";
import { EdgeCore, headOf } from "../../worker/edge";
import { Egress, isOn } from "../../worker/egress";
import { outcomeName } from "../../worker/outcome";
import { Sandbox } from "../../worker/sandbox";
import { hostsOf } from "../../worker/settings";
import { exec } from "./calls";
import { type FakeContainer, forgetContainers, withContainer } from "./fake-container";

afterEach(() => {
  vi.restoreAllMocks();
  forgetContainers();
});

const HOSTS = "registry.example *.Wild.example\n other.example:8443 ";

describe("the list", () => {
  it("has names, wildcards and ports, whatever the case and the blanks", () => {
    expect(hostsOf("HOSTS", HOSTS)).toEqual([
      { host: "registry.example", port: "" },
      { host: "*.wild.example", port: "" },
      { host: "other.example", port: "8443" },
    ]);
    expect(hostsOf("HOSTS", " ")).toEqual([]);
    expect(hostsOf("HOSTS", "localhost xn--bcher-kva.example 1and1.example a_b.example:1")).toHaveLength(4);
  });

  it.each([
    "*", "*.", "a.*.example", "*a.example", "https://a.example", "a.example/", "a.example:", "a.example:0",
    "a.example:65536", "a.example:8080x", ".a.example", "a.example.", "a..example", "-a.example", "bücher.example",
    "10.0.0.1", "10.1", "0x7f.1", "a.0x7f", "[::1]", "::1", "10.0.0.0/8", "a@b.example", "a,b", `${"a".repeat(64)}.example`,
  ])("refuses %s, and says what it should be", (entry) => {
    const read = () => hostsOf("ALLOWED_HOSTS", `fine.example ${entry}`);
    expect(read).toThrow(`wrangler.toml: ALLOWED_HOSTS has "${entry}"; it should be a name as in "registry.example"`);
  }); // biome-ignore format: one line of words

  it.each([
    ["http://registry.example/", true],
    ["https://registry.example/a?b", true],
    ["https://registry.example:443/", true],
    ["http://REGISTRY.example/", true],
    ["https://a.wild.example/", true],
    ["https://a.b.wild.example/", true],
    ["https://other.example:8443/", true],
    ["http://other.example:8443/", true],
    ["http://registry.example:8080/", false],
    ["http://registry.example:443/", false],
    ["https://wild.example/", false],
    ["https://awild.example/", false],
    ["https://other.example/", false],
    ["http://registry.example.evil.example/", false],
    ["http://evil.example/registry.example", false],
    ["http://registry.example@evil.example/", false],
    ["http://user:word@registry.example/", false],
    ["http://registry.example./", false],
    ["http://169.254.169.254/", false],
    ["ftp://registry.example/", false],
  ])("on it: %s is %s", (url, expected) => {
    expect(isOn(hostsOf("HOSTS", HOSTS), new URL(url))).toBe(expected);
  });
});

describe("a request of a command", () => {
  /** What comes of it, what was asked outside, and what was logged. */
  async function ask(
    request: Request,
    answer: () => Promise<Response> = async () => new Response("fine"),
    hosts = HOSTS,
  ) {
    const asked = vi.spyOn(globalThis, "fetch").mockImplementation(answer);
    const log = vi.spyOn(console, "log").mockReturnValue();
    vi.spyOn(console, "error").mockReturnValue();
    const ctx = Object.create(createExecutionContext(), { props: { value: { room: "r" } } });
    const reply = await new Egress(ctx, { ...env, ALLOWED_HOSTS: hosts }).fetch(request);
    const lines = log.mock.calls.map(([line]) => JSON.parse(`${line}`));
    return { reply, asked, lines };
  }

  it("is passed on as it is, and logged without what may be secret", async () => {
    const request = new Request("https://registry.example/secret?key=1", { method: "POST", body: "body" });
    const { reply, asked, lines } = await ask(request, async () => new Response("made", { status: 201 }));
    expect([reply.status, await reply.text()]).toEqual([201, "made"]);
    expect(asked).toHaveBeenCalledExactlyOnceWith(request, { redirect: "manual" });
    const line = { event: "egress", time: expect.any(String), room: "r", method: "POST", host: "registry.example" };
    expect(lines).toEqual([{ ...line, status: 201 }]);
  });

  it("to another host goes nowhere", async () => {
    const { reply, asked, lines } = await ask(new Request("http://evil.example:8080/?key=1"));
    expect(reply.status).toBe(403);
    expect(await reply.text()).toBe("this sandbox may not reach evil.example:8080: ALLOWED_HOSTS does not name it\n");
    expect(asked).not.toHaveBeenCalled();
    expect(lines).toEqual([expect.objectContaining({ host: "evil.example:8080", status: 403 })]);
  });

  it("goes nowhere once the list cannot be read, and is told so", async () => {
    const request = new Request("http://registry.example/?key=1");
    const { reply, asked, lines } = await ask(request, undefined, "registry.example https://b.example");
    const text = "ALLOWED_HOSTS cannot be read until it is corrected in wrangler.toml";
    expect([reply.status, await reply.text()]).toEqual([403, `this sandbox may not reach registry.example: ${text}\n`]);
    expect(asked).not.toHaveBeenCalled();
    expect(lines).toEqual([expect.objectContaining({ host: "registry.example", status: 403 })]);
  });

  it("to a host that is not there is told so", async () => {
    const { reply } = await ask(new Request("http://registry.example/"), () =>
      Promise.reject(new Error("no such host")),
    );
    expect([reply.status, await reply.text()]).toEqual([502, "registry.example did not answer\n"]);
  });
});

describe("a container", () => {
  let rooms = 0;
  /** Calls a sandbox whose deployment has that list. */
  const started = (hosts: string, test: (container: FakeContainer, outcome: string | undefined) => void) =>
    withContainer(`sandbox-egress-${rooms++}`, async (_, container, state) => {
      const sandbox = new Sandbox(state, { ...env, ALLOWED_HOSTS: hosts });
      const reply = await sandbox.fetch(exec("true"));
      test(container, outcomeName(reply));
    });

  it("that may reach nobody has nothing intercepted", () =>
    started("", ({ letOut, options, starts }) => {
      expect([letOut, starts, options?.enableInternet]).toEqual([[], 1, false]);
      expect(options?.env).not.toHaveProperty("SSL_CERT_FILE");
    }));

  it("has the hosts intercepted before it starts, by both schemes, and trusts who intercepts", () =>
    started(HOSTS, ({ letOut, lettingOut, options, starts }) => {
      expect(letOut.map(([place]) => place)).toEqual([
        "http://registry.example",
        "https://registry.example",
        "http://*.wild.example",
        "https://*.wild.example",
        "http://other.example:8443",
        "https://other.example:8443",
      ]);
      expect([starts, lettingOut, options?.enableInternet]).toEqual([1, 6, false]);
      expect(options?.env).toMatchObject({ SSL_CERT_FILE: "/etc/cloudflare/certs/cloudflare-containers-ca.crt" });
    }));

  it("does not start with a list that cannot be read, and says so", async () => {
    const log = vi.spyOn(console, "error").mockReturnValue();
    await started("registry.example https://b.example", ({ starts }, outcome) => {
      expect([starts, outcome]).toEqual([0, "hosts_invalid"]);
    });
    const head = headOf(new Request("http://w/api/rooms/r/sandbox/exec", { method: "POST" }), {
      caller: "",
      origins: "",
      maxRooms: "0",
    });
    const { response: reply } = new EdgeCore().outcome(head, { name: "hosts_invalid" });
    expect([reply.status, await reply.text()]).toEqual([500, expect.stringContaining("correct it in wrangler.toml")]);
    expect(`${log.mock.calls[0]?.[1]}`).toContain('ALLOWED_HOSTS has "https://b.example"');
  });

  it("that outlives its object's instance has them intercepted again", () =>
    withContainer("sandbox-egress-outlived", async (_, container, state) => {
      container.running = true;
      new Sandbox(state, { ...env, ALLOWED_HOSTS: "registry.example" });
      await vi.waitFor(() => expect(container.letOut).toHaveLength(2));
    }));
});
