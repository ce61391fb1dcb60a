import { defineConfig } from "vitest/config";

// The client, and of the room page what needs no browser.
export default defineConfig({
  test: {
    include: ["tests/sdk/**/*.test.ts", "tests/web/**/*.test.ts"],
    testTimeout: 60_000, // many start processes, on machines that have more to do
  },
});
