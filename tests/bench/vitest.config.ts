import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/bench/**/*.test.ts"],
    testTimeout: 30_000, // a machine may be busy with other things
  },
});
