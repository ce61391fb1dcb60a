import type { Plugin } from "vite";
import { readDocument } from "./document.ts";
import { pageOf } from "./page.ts";

/** Makes openapi.json, and the page of docs.html. */
export function docs(): Plugin {
  const document = readDocument();
  return {
    name: "docs",
    transformIndexHtml: {
      order: "pre",
      handler: (html, { path }) =>
        path.endsWith("/docs.html") ? html.replace("<main></main>", () => pageOf(document)) : html,
    },
    generateBundle() {
      this.emitFile({ type: "asset", fileName: "openapi.json", source: JSON.stringify(document) });
    },
  };
}
