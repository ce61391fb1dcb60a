import { readFile } from "node:fs/promises";

// The types here are those of Workers, which compile nothing.
const { compile } = WebAssembly as unknown as { compile(bytes: Uint8Array): Promise<WebAssembly.Module> };

export default await compile(await readFile("build/wasi/wasm/edge.wasm"));
