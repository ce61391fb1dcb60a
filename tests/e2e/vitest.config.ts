import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/e2e/**/*.test.ts"],
    globalSetup: "tests/e2e/wrangler.ts",
    fileParallelism: false, // bounds on time are part of what is promised
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } }, // a second is little on a busy machine
  },
});
