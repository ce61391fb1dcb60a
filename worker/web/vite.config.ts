import { resolve } from "node:path";
import { defineConfig } from "vite";
import { docs } from "./docs/plugin.ts";

const here = import.meta.dirname;

export default defineConfig({
  root: here,
  plugins: [docs()],
  build: {
    outDir: resolve(here, "../../build/web"),
    emptyOutDir: true,
    target: "es2023",
    modulePreload: { polyfill: false }, // it is an inline script, which the pages' policy forbids
    assetsInlineLimit: 0, // likewise data: URLs
    rolldownOptions: {
      input: { index: resolve(here, "index.html"), room: resolve(here, "room.html"), docs: resolve(here, "docs.html") },
    },
  },
});
