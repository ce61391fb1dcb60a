// The server of embed.html: gives its page, and a token for the room of whoever looks at it. The API key stays here.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";

const { ROOMBOX_URL = "http://localhost:8787", ROOMBOX_API_KEY = "", PORT = "3000" } = process.env;
const page = new URL("embed.html", import.meta.url);

const json = { "content-type": "application/json" };
createServer((request, response) => {
  // Roombox may not be up yet: who asks is told, and this server goes on.
  answer(request, response).catch((error) => response.writeHead(502, json).end(JSON.stringify({ error: `${error}` })));
}).listen(Number(PORT), "127.0.0.1", () => console.log(`http://localhost:${PORT}`));

async function answer(request, response) {
  if (request.method === "POST" && request.url === "/token") {
    const room = "embed-demo"; // of the user, in an app that has any: look here whether this one may
    const made = await fetch(`${ROOMBOX_URL}/api/rooms/${room}/tokens`, {
      method: "POST",
      headers: { authorization: `Bearer ${ROOMBOX_API_KEY}`, ...json },
      body: JSON.stringify({ scope: ["exec", "attach", "files", "read"], expires_in: 3600 }),
    });
    const body = await made.json();
    response.writeHead(made.status, json).end(JSON.stringify({ url: ROOMBOX_URL, room, ...body }));
  } else {
    response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(await readFile(page));
  }
}
