import { WorkerEntrypoint } from "cloudflare:workers";
import { tellEgress } from "./audit";
import { type AllowedHost, hostsOf } from "./settings";

const DEFAULT_PORTS: Record<string, string> = { "http:": "80", "https:": "443" };

/** Whose requests they are. */
interface Sender {
  room: string;
}

/**
 * Carries out what commands ask of hosts outside: the platform hands it each request of a sandbox to a host that was named to
 * it (`interceptOutboundHttp`). Whether the host is allowed is looked at again for every request, since the platform goes by
 * the first of a connection, and by what the deployment allowed as the container started.
 */
export class Egress extends WorkerEntrypoint<Env, Sender> {
  override async fetch(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const refusal = this.#refusal(url);
    const reply = refusal === undefined ? await carry(request) : say(403, refusal);
    const { room } = this.ctx.props;
    tellEgress(this.env, { room, method: request.method, host: url.host, status: reply.status });
    return reply;
  }

  /** Why it is not passed on. A list that cannot be read names nobody. */
  #refusal(url: URL): string | undefined {
    const refused = `this sandbox may not reach ${url.host}: ALLOWED_HOSTS`;
    try {
      return isOn(hostsOf("ALLOWED_HOSTS", this.env.ALLOWED_HOSTS), url) ? undefined : `${refused} does not name it`;
    } catch (error) {
      console.error(`${this.ctx.props.room}: reaches no hosts`, error);
      return `${refused} cannot be read until it is corrected in wrangler.toml`;
    }
  }
}

export function isOn(hosts: AllowedHost[], { protocol, hostname, port, username, password }: URL): boolean {
  const standard = DEFAULT_PORTS[protocol];
  if (standard === undefined || username || password) return false;
  return hosts.some((allowed) => {
    const isHost = allowed.host.startsWith("*.") ? hostname.endsWith(allowed.host.slice(1)) : hostname === allowed.host;
    return isHost && (port || standard) === (allowed.port || standard);
  });
}

/** Passes it on as it is; where to go on is for the sandbox to ask again. */
async function carry(request: Request): Promise<Response> {
  try {
    return await fetch(request, { redirect: "manual" });
  } catch (error) {
    const { host } = new URL(request.url);
    console.error(`${host} did not answer`, error);
    return say(502, `${host} did not answer`);
  }
}

function say(status: number, text: string): Response {
  return new Response(`${text}\n`, { status });
}
