import type { Http } from "./http.ts";

export interface PortOptions {
  /** How long to wait for a server that does not listen yet, at most 60 000. */
  waitMs?: number | undefined;
}

/** The servers of a room. */
export class Ports {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, roomPath: string) {
    this.#http = http;
    this.#path = `${roomPath}/sandbox/ports`;
  }

  /** Where a server on that port is reached. @param path on the server, with its query, as URLs have it */
  url(port: number, path = "/", { waitMs }: PortOptions = {}): string {
    const root = new URL(`${this.#http.origin}${this.#path}/${port}/`);
    const url = new URL(`${root.href}${path.replace(/^\//, "")}`);
    // With ".." in it, by whoever wrote it, it would be another call of the API, with the credential.
    if (!url.pathname.startsWith(root.pathname)) {
      throw new TypeError(`path: expected a path on the server, ${JSON.stringify(path)} leads out of it`);
    }
    if (waitMs !== undefined) url.search += `${url.search ? "&" : "?"}wait_ms=${waitMs}`;
    return url.href;
  }

  /** Calls the server, with the credential; its answer as it is, whatever the status. */
  fetch(port: number, path = "/", { waitMs, ...init }: RequestInit & PortOptions = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of Object.entries(this.#http.headers())) headers.set(name, value);
    return this.#http.fetch(this.url(port, path, { waitMs }), { ...init, headers });
  }
}
