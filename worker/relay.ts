import { isCut, isNotListening, type SandboxContainer } from "./container";
import { CALLER_HEADER } from "./executions";
import { outcomeReply } from "./outcome";

/** The agent's calls about files and ports: `kFiles` and `kPorts` of wasm/protocol/agent_api.h. */
const AREAS = ["files", "ports"];

export function isRelayed(request: Request): boolean {
  const [, area = ""] = new URL(request.url).pathname.split("/", 2);
  return AREAS.includes(area);
}

/**
 * Has the agent carry out a call about a file, or a server of the sandbox answer it, in a container that is started if none
 * runs. The bytes pass through as they come.
 */
export function relay(container: SandboxContainer, request: Request, life: number): Promise<Response> {
  const { method, headers, body, signal } = request;
  const { pathname, search } = new URL(request.url);
  const caller = headers.get(CALLER_HEADER) ?? undefined;
  return container.deliver({ life, signal, caller }, async () => {
    try {
      if (body) await container.knock(); // a stream can be sent once only
      if (container.isHeld) return undefined; // it may be by now
      return await container.call(pathname + search, { method, headers, body, signal, redirect: "manual" });
    } catch (error) {
      if (isCut(error)) return outcomeReply("slept");
      if (isNotListening(error) && body?.locked) throw new Error("the body was sent in part", { cause: error });
      throw error;
    }
  });
}
