// The least that a worker can do: what comes is passed on unseen, or refused unseen where this is the worker of refusals.

interface Bindings {
  STUB: DurableObjectNamespace;
  REFUSES: string;
}

const HEADERS = { "content-type": "application/json" };
const REFUSAL = '{"error":"invalid request","code":"invalid_request"}';
/** A body that is announced to be longer never comes in this benchmark. */
const MOST = 4 << 20;

export default {
  async fetch(request, env): Promise<Response> {
    const body = Number(request.headers.get("content-length")) > MOST ? undefined : await request.arrayBuffer();
    if (env.REFUSES === "yes" || !body) return new Response(REFUSAL, { status: 400, headers: HEADERS });
    return env.STUB.getByName("sandbox-room-123").fetch("http://sandbox/", { method: "POST", body });
  },
} satisfies ExportedHandler<Bindings>;
