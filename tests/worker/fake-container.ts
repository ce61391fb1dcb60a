import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { Sandbox } from "../../worker/sandbox";
import { FakeAgent, healthy } from "./fake-agent";

/** A container that starts as it is told to. Each start has an agent of its own. */
export class FakeContainer {
  running = false;
  starts = 0;
  readonly images: Record<string, string> = { sandbox: "image" };
  /** What the last one was started with. */
  options: ContainerStartupOptions | undefined;
  /** Snapshots that were taken, in order. */
  snapshots: ContainerSnapshot[] = [];
  /** Milliseconds for which the platform was asked to keep it, each time. */
  kept: number[] = [];
  /** Hosts that were let out, by scheme and in order, with where their requests go. */
  readonly letOut: [place: string, to: Fetcher][] = [];
  /** How many of them the last start found. */
  lettingOut = 0;
  agent = new FakeAgent();
  /** Calls of executions, by path. */
  sent: string[] = [];
  /** What a call to the agent comes to, by its path. */
  reply: (path: string, init: RequestInit) => Response | Promise<Response> = (path, init) =>
    this.agent.fetch(path, init);
  #ended = Promise.withResolvers<void>();

  start(options: ContainerStartupOptions): void {
    if (this.running) throw new Error("start() cannot be called on a container that is already running.");
    this.running = true;
    this.starts++;
    this.lettingOut = this.letOut.length;
    this.options = options;
    this.agent = new FakeAgent(options.env?.ROOMBOX_BOOT_ID);
    this.#ended = Promise.withResolvers();
  }
  monitor(): Promise<void> {
    return this.#ended.promise;
  }
  async destroy(): Promise<void> {
    this.end();
  }
  async setInactivityTimeout(ms: number): Promise<void> {
    this.kept.push(ms);
  }
  async interceptOutboundHttp(place: string, to: Fetcher): Promise<void> {
    this.letOut.push([`http://${place}`, to]);
  }
  async interceptOutboundHttps(place: string, to: Fetcher): Promise<void> {
    this.letOut.push([`https://${place}`, to]);
  }
  /** Replaced where it is to fail, or to take its time. */
  snapshotContainer: (() => Promise<ContainerSnapshot>) | undefined = async () => {
    const snapshot = { id: `snapshot-${this.snapshots.length + 1}`, size: 1000 };
    this.snapshots.push(snapshot);
    return snapshot;
  };
  /** Dies: the calls to its agent break off, and then its monitor tells. */
  end(): void {
    this.running = false;
    this.agent.breakFeed();
    this.#ended.reject(new Error("Container exited with unexpected exit code: 137"));
    this.#ended.promise.catch(() => undefined);
  }
  /** What a knock is answered. */
  healthy(): Response {
    return healthy(this.agent.boot);
  }
  /** Its object's instance is gone, and nobody tells that of its end. */
  loseWatcher(): void {
    this.#ended = Promise.withResolvers();
    this.agent.loseReader();
  }
  getTcpPort() {
    return {
      fetch: async (url: string, init: RequestInit = {}) => {
        const { pathname, search } = new URL(url);
        if (pathname.startsWith("/executions")) this.sent.push(pathname + search);
        const { signal } = init;
        const broken = Promise.withResolvers<never>();
        broken.promise.catch(() => undefined); // also after it lost the race
        signal?.addEventListener("abort", () => broken.reject(signal.reason));
        this.#ended.promise.catch(() => broken.reject(new Error("Network connection lost.")));
        return Promise.race([this.reply(pathname + search, init), broken.promise]);
      },
    };
  }
}

export const notListening = () => {
  throw new Error("Container is not listening to port 8080");
};

/** The containers of objects by their names; like real ones they outlive an instance of the object. */
const containers = new Map<string, FakeContainer>();

export function containerOf({ name }: DurableObjectId): FakeContainer {
  const container = containers.get(`${name}`) ?? new FakeContainer();
  containers.set(`${name}`, container);
  return container;
}

export function forgetContainers(): void {
  containers.clear();
}

/** Runs a test in an object, with its container. */
export function withContainer(
  name: string,
  test: (sandbox: Sandbox, container: FakeContainer, state: DurableObjectState) => Promise<void>,
) {
  return runInDurableObject(env.SANDBOX.getByName(name), (sandbox: Sandbox, state) =>
    test(sandbox, containerOf(state.id), state),
  );
}

/** Takes an object's instance away, as the platform may at any time; its container goes on. */
export async function evict(name: string): Promise<FakeContainer> {
  const object = env.SANDBOX.getByName(name);
  const container = containerOf(object.id);
  container.loseWatcher();
  await evictDurableObject(object);
  return container;
}
