import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

// Workers instantiate the module that an import gives them; Node imports none, so it is compiled.
const edgeModule = { find: /^.*\/edge\.wasm$/, replacement: resolve(import.meta.dirname, "edge-module.ts") };

export default defineConfig({
  resolve: { alias: [edgeModule] },
  test: { include: ["tests/docs/**/*.test.ts"], testTimeout: 30_000 },
});
