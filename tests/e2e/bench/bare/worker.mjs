import { DurableObject } from "cloudflare:workers";

// A container with nothing around it: what the engine and workerd take for a start, with and without a snapshot, and for each
// hop of a call.

export class Bare extends DurableObject {
  async fetch(request) {
    const { container, storage } = this.ctx;
    const { pathname } = new URL(request.url);
    if (pathname === "/object") return new Response("ok");
    if (pathname === "/container") return container.getTcpPort(8080).fetch("http://bare/");
    if (pathname === "/sleep") {
      storage.kv.put("snapshot", await container.snapshotContainer({}));
      await container.destroy();
    } else if (pathname === "/destroy") {
      await container.destroy();
    } else if (!container.running) {
      const containerSnapshot = storage.kv.get("snapshot");
      const from = containerSnapshot ? { containerSnapshot } : { image: container.images.bare };
      container.start({ enableInternet: false, instance: "standard-1", ...from });
      for (let pause = 2; ; pause = Math.min(pause * 2, 250)) {
        const answer = await container
          .getTcpPort(8080)
          .fetch("http://bare/")
          .catch(() => undefined);
        if ((await answer?.text()) === "ok") break;
        await scheduler.wait(pause);
      }
    }
    return new Response("ok");
  }
}

export default {
  fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/worker") return new Response("ok");
    return env.BARE.getByName(searchParams.get("room")).fetch(request);
  },
};
