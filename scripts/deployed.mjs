// Prints where a deployment is reached, from what wrangler has written of it (WRANGLER_OUTPUT_FILE_PATH): nothing where it was none.
import { readFileSync } from "node:fs";

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
const { targets = [] } = lines.map((line) => JSON.parse(line)).find(({ type }) => type === "deploy") ?? {};
// A URL, or a route with what it is behind it: "roombox.example/* (zone name: roombox.example)".
const [, scheme = "https://", place] = /^(https:\/\/)?([^\s*]+?)\/?\*?(?: |$)/.exec(targets[0] ?? "") ?? [];
if (place) console.log(scheme + place);
