import { defineConfig } from "vitest/config";

// The client, and of the room page what needs no browser.
export default defineConfig({ test: { include: ["tests/sdk/**/*.test.ts", "tests/web/**/*.test.ts"] } });
