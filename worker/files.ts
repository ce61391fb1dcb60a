import { isNotListening, MAX_SENDS, type SandboxContainer } from "./container";
import { outcomeReply } from "./outcome";

/** The agent's calls about files: `kFiles` of wasm/protocol/agent_api.h. */
const PATH = "/files";

export function isFileCall(request: Request): boolean {
  const { pathname } = new URL(request.url);
  return pathname === PATH || pathname.startsWith(`${PATH}/`);
}

/** Has the agent carry out a call about files, in a container that is started if none runs. The bytes pass through as they come. */
export async function callFiles(container: SandboxContainer, request: Request, life: number): Promise<Response> {
  const { method, headers, body, signal } = request;
  const { pathname, search } = new URL(request.url);
  for (let sends = 1; ; sends++) {
    const failure = await container.ready();
    if (life !== container.life) return outcomeReply("gone");
    if (failure) return outcomeReply(failure);
    signal.throwIfAborted(); // the client has left
    try {
      if (body) await container.knock(); // a stream can be sent once only
      return await container.fetch(pathname + search, { method, headers, body, signal });
    } catch (error) {
      if (!isNotListening(error) || body?.locked) throw error;
      if (sends === MAX_SENDS) return outcomeReply("start_failed");
      container.distrust();
    }
  }
}
