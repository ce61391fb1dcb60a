import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { docker, type ExecResult, newRoom } from "./client";
import { NAME, WranglerDev } from "./wrangler";

// From inside a room: what gets out where nothing may, and where some hosts are allowed.

/** Whoever may be reached; it has no address but that of this machine, so by name it is not found from the room. */
const HOST = "localhost";
const MIB = 1 << 20;
let server: Server;
let port = 0;
let dev: WranglerDev;
let log = "";

function serve(request: IncomingMessage, response: ServerResponse): void {
  const path = request.url ?? "";
  if (path === "/to-forbidden") return void response.writeHead(302, { location: "http://192.0.2.9/secret" }).end();
  if (path === "/headers") return void response.end(JSON.stringify(request.headers));
  if (path === "/download") return void response.end(Buffer.alloc(20 * MIB, "d"));
  let size = 0;
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
  });
  request.on("end", () => response.end(`${request.method} ${path} ${size}\n`));
}

beforeAll(async () => {
  server = createServer(serve).listen(0, "127.0.0.1");
  await once(server, "listening");
  ({ port } = server.address() as AddressInfo);
  const hosts = `ALLOWED_HOSTS:${HOST}:${port} *.invalid`;
  dev = await WranglerDev.start(`${NAME}-out`, "--var", hosts);
  dev.onLog((text) => {
    log += text;
  });
});
afterAll(async () => {
  for (const [origin, room] of made) await fetch(`${origin}/api/rooms/${room}`, { method: "DELETE" });
  await dev.stop();
  server.close();
});

const made: [origin: string, room: string][] = [];
function room(origin: string): (cmd: string) => Promise<ExecResult> {
  const name = newRoom();
  made.push([origin, name]);
  return async (cmd) => {
    const response = await fetch(`${origin}/api/rooms/${name}/sandbox/exec`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ cmd, timeout_ms: 40_000 }),
    });
    const { result, error } = (await response.json()) as { result: ExecResult; error: unknown };
    if (!result) throw new Error(`${response.status} ${JSON.stringify(error)}`);
    return result;
  };
}

/** Tries all the ways out that there are; prints what answered, as the agent must, and what took more than a second. */
const TRIALS = `
import socket, struct, sys, time
gateway, other, worker = sys.argv[1:4]
def query(): return b"\\x12\\x34\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\7example\\3com\\0\\0\\1\\0\\1"
def tcp(host, port, family=socket.AF_INET, data=None):
  s = socket.socket(family); s.settimeout(3); s.connect((host, int(port)))
  s.sendall(data or b"GET / HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % host.encode()); return s.recv(100)
def udp(host, port, data=b"x"):
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3); s.connect((host, port)); s.send(data); return s.recv(100)
def name(reply): return b"" if reply[-28:] and reply.find(b"\\x12\\x34") >= 0 and reply[reply.find(b"\\x12\\x34") + 3] & 15 == 3 else reply
def icmp(kind, host):
  s = socket.socket(socket.AF_INET, kind, socket.IPPROTO_ICMP); s.settimeout(3)
  s.sendto(struct.pack("!BBHHH", 8, 0, 0xf7ff, 0, 0), (host, 0)); return s.recv(100)
trials = {"agent": lambda: tcp("127.0.0.1", 8080), "gateway ssh": lambda: tcp(gateway, 22), "gateway worker": lambda: tcp(gateway, worker),
  "other room": lambda: tcp(other, 8080), "other ingress": lambda: tcp(other, 39001),
  "own ingress": lambda: tcp("127.0.0.1", 39001), "metadata": lambda: tcp("169.254.169.254", 80),
  "task metadata": lambda: tcp("169.254.170.2", 80), "metadata6": lambda: tcp("fd00:ec2::254", 80, socket.AF_INET6),
  "outside": lambda: tcp("1.1.1.1", 80), "outside6": lambda: tcp("2606:4700:4700::1111", 80, socket.AF_INET6),
  "outside tls": lambda: tcp("1.1.1.1", 443, data=b"\\x16\\x03\\1\\0\\1\\0"),
  "dns configured": lambda: name(udp("1.1.1.1", 53, query())), "dns 8.8.8.8": lambda: name(udp("8.8.8.8", 53, query())),
  "dns docker": lambda: name(udp("127.0.0.11", 53, query())), "dns gateway": lambda: name(udp(gateway, 53, query())),
  "dns tcp": lambda: name(tcp("8.8.8.8", 53, data=b"\\0" + bytes([len(query())]) + query())),
  "dot": lambda: tcp("1.1.1.1", 853, data=b"\\x16\\x03\\1\\0\\1\\0"), "udp gateway": lambda: udp(gateway, 123),
  "icmp": lambda: icmp(socket.SOCK_DGRAM, gateway), "icmp outside": lambda: icmp(socket.SOCK_DGRAM, "1.1.1.1"),
  "raw": lambda: icmp(socket.SOCK_RAW, gateway),
  "packet": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300) and b"made"}
for what, trial in trials.items():
  begin = time.monotonic()
  try: answer = trial()
  except OSError: answer = b""
  if answer: print(what, "answered")
  if time.monotonic() - begin > 1: print(what, "took", time.monotonic() - begin)
print(len(trials), "tried")
`;

const ALL_IN = "agent answered\n23 tried\n";

async function tryAll(origin: string): Promise<string> {
  const [inside, other] = [room(origin), room(origin)];
  const { stdout: address } = await other("hostname -I");
  const gateway = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}");
  const { stdout, stderr } = await inside(
    `python3 - ${gateway} ${address.trim()} ${new URL(origin).port} <<'END'\n${TRIALS}\nEND`,
  );
  return stdout + stderr;
}

describe("where nothing is allowed", () => {
  it("nothing answers, whatever is tried, and all of it at once", async () => {
    expect(await tryAll(inject("origin"))).toBe(ALL_IN);
  });

  it("no name is known, and an allowed host of another deployment is refused", async () => {
    const run = room(inject("origin"));
    expect((await run("getent hosts a.invalid")).exitCode).toBe(2);
    expect((await run(`curl -sS -H 'Host: ${HOST}:${port}' http://192.0.2.7:${port}/`)).exitCode).toBe(7);
  });

  it("the way in is not for those who may reach the room's ports", async () => {
    await room(inject("origin"))("true");
    const [origin, name] = made.at(-1) ?? [];
    expect((await fetch(`${origin}/api/rooms/${name}/sandbox/ports/39001/ca`)).status).toBe(502);
  });
});

describe("where some hosts are allowed", () => {
  /** Asks for a host, at an address that is nobody's: the name alone counts. */
  const curl = (options: string, path: string, host = `${HOST}:${port}`) =>
    `curl -sS -m 20 -H 'Host: ${host}' ${options} http://192.0.2.7:${port}${path}`;

  it("nothing else answers, whatever is tried, and all of it at once", async () => {
    expect(await tryAll(dev.origin)).toBe(ALL_IN);
  });

  it("an allowed one answers, at whatever address it is asked for, and is told nothing of us", async () => {
    const run = room(dev.origin);
    expect(await run(curl("", "/a?b"))).toMatchObject({ stdout: "GET /a?b 0\n", exitCode: 0 });
    const gateway = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Gateway}}");
    expect((await run(`curl -sS -H 'Host: ${HOST}:${port}' http://${gateway}:${port}/`)).stdout).toBe("GET / 0\n");
    const { "cf-worker": _, ...headers } = JSON.parse((await run(curl("", "/headers"))).stdout); // the platform's, on every fetch
    expect(JSON.stringify(headers)).not.toMatch(/roombox|"x-hostname|sandbox/i);
  });

  it("another is refused within a second", async () => {
    const run = room(dev.origin);
    for (const host of ["other.example", `${HOST}.other.example`, "192.0.2.7"]) {
      const { exitCode, duration } = await run(curl("", "/", host));
      expect(exitCode, host).not.toBe(0);
      expect(duration).toBeLessThan(1000);
    }
    expect((await run(`curl -sS -H 'Host: ${HOST}' http://192.0.2.7/`)).exitCode, "another port").not.toBe(0);
  });

  it("another is refused also where a request for an allowed one came first, or seems to", async () => {
    const run = room(dev.origin);
    const twice = `curl -sS ${["-H 'Host: localhost:PORT'", "-H 'Host: other.example'"]
      .map((header) => `${header.replace("PORT", `${port}`)} http://192.0.2.7:${port}/`)
      .join(" --next -sS ")}`;
    expect((await run(twice)).stdout).toBe(
      "GET / 0\nthis sandbox may not reach other.example: ALLOWED_HOSTS does not name it\n",
    );
    const forbidden = "this sandbox may not reach other.example: ALLOWED_HOSTS does not name it\n";
    expect((await run(curl("--request-target //other.example/", "/"))).stdout).toBe(forbidden);
    expect((await run(curl("--request-target http://other.example/", "/"))).stdout).toBe(forbidden);
  });

  it("bodies of many MiB pass both ways, and a redirect is the sandbox's to follow", async () => {
    const run = room(dev.origin);
    const upload = await run(`head -c ${20 * MIB} /dev/zero | ${curl("-T -", "/up")}`);
    expect(upload.stdout).toBe(`PUT /up ${20 * MIB}\n`);
    expect((await run(`${curl("", "/download")} | tr -d d | wc -c; ${curl("", "/download")} | wc -c`)).stdout).toBe(
      `0\n${20 * MIB}\n`,
    );
    const redirect = await run(curl("-o /dev/null -w '%{http_code} %{redirect_url}'", "/to-forbidden"));
    expect(redirect.stdout).toBe("302 http://192.0.2.9/secret");
    expect((await run(curl("-L", "/to-forbidden"))).exitCode).not.toBe(0);
  });

  it("its names have an address of nobody, others none, and one that is not there is said not to answer", async () => {
    const run = room(dev.origin);
    expect((await run("getent ahostsv4 a.b.invalid | head -n 1")).stdout).toMatch(/^198\.18\.0\.1 /);
    expect((await run("getent hosts example.com")).exitCode).toBe(2);
    expect((await run("curl -sS -m 20 http://a.invalid/")).stdout).toBe("a.invalid did not answer\n");
  });

  it("each request is logged, without its path and query", async () => {
    const run = room(dev.origin);
    await run(curl("", "/secret-path?secret-key"));
    await expect.poll(() => log, { timeout: 5000 }).toMatch(/egress.*GET.*localhost/s);
    expect(log).not.toMatch(/secret/);
  });
});
