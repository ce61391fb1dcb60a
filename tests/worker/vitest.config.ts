import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [
    cloudflareTest({
      main: "./tests/worker/main.ts",
      wrangler: { configPath: "./wrangler.toml" },
      miniflare: { bindings: { START_TIMEOUT: "500ms", AUTH_MODE: "open", MAX_EXECUTIONS: "150", MAX_ROOMS: "3" } },
    }),
  ],
  test: {
    include: ["tests/worker/**/*.test.ts"],
    testTimeout: 30_000, // a machine may be busy with other things
    onConsoleLog: (log) => !log.startsWith('{"event":'), // the worker's own log, which tests of it look at themselves
  },
});
