import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { enter, person, picture, SCREEN, sees, type, useBrowser } from "./browser";
import { freePort, NAME, WranglerDev } from "./wrangler";

// The page of a room where keys are wanted, and a web app at another origin: docs/examples.

const KEY = "key-of-the-test-0123456789";
const ROOM = "embed-demo"; // the example's
const SCOPES = ["exec", "attach", "files", "read"];
const state = mkdtempSync(join(tmpdir(), "roombox-e2e-"));
let dev: WranglerDev;
let app: ChildProcess;
let appOrigin: string;

useBrowser();
beforeAll(async () => {
  appOrigin = `http://localhost:${await freePort()}`;
  const secrets = [`API_KEY:${KEY}`, "TOKEN_KEY:a secret of the test for tokens, long enough"];
  const vars = [...secrets, `ALLOWED_ORIGINS:${appOrigin}`].flatMap((each) => ["--var", each]);
  dev = await WranglerDev.startWith(`${NAME}-web`, "--persist-to", state, ...vars);
  const env = { ...process.env, PORT: new URL(appOrigin).port, ROOMBOX_URL: dev.origin, ROOMBOX_API_KEY: KEY };
  app = spawn(process.execPath, ["docs/examples/embed-server.mjs"], { env, stdio: ["ignore", "pipe", "inherit"] });
  if (app.stdout) await once(app.stdout, "data"); // it listens
});
afterAll(async () => {
  app.kill();
  await fetch(`${dev.origin}/api/rooms/${ROOM}`, { method: "DELETE", headers: { authorization: `Bearer ${KEY}` } });
  await dev.stop();
  rmSync(state, { recursive: true });
});

async function mint(scope = SCOPES): Promise<string> {
  const reply = await fetch(`${dev.origin}/api/rooms/${ROOM}/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify({ scope }),
  });
  return ((await reply.json()) as { token: string }).token;
}
const pageOf = (token?: string) => `${dev.origin}/rooms/${ROOM}${token === undefined ? "" : `#token=${token}`}`;

it("lets in who has a token in the address, and takes it out of there", async () => {
  const token = await mint();
  const [ada, grace] = await Promise.all(
    ["Ada", "Grace"].map(async (name) => enter(await person({ name }), pageOf(token))),
  );
  if (!ada || !grace) throw new Error("two pages");
  expect(ada.url()).toBe(pageOf());
  await sees(ada, "#people", "Grace");
  await type(ada, "echo with a token $((1 + 2))");
  await sees(grace, SCREEN, "with a token 3");
  await ada.getByLabel("Command").fill("touch made; echo by run");
  await ada.keyboard.press("Enter");
  await sees(ada, "#output", "by run");
  await ada.getByRole("treeitem", { name: "made" }).waitFor();
  await ada.getByLabel("Port", { exact: true }).fill("3000");
  await ada.getByRole("button", { name: "Add link" }).click();
  await sees(ada, "#port-list code", `${dev.origin}/api/rooms/${ROOM}/sandbox/ports/3000/`);
  expect(await ada.getByRole("link", { name: /port/ }).count()).toBe(0);
  await ada.reload();
  await sees(ada, "#terminal-state", "Live");
});

it("asks for one who has none, or one that is no good", async () => {
  const context = await person({ excused: /401/ });
  const page = await context.newPage();
  await page.goto(pageOf());
  await page.getByRole("dialog", { name: "A token for this room" }).waitFor();
  await picture(page, "sign-in");
  await page.getByLabel("Room token").fill("wrong");
  await page.keyboard.press("Enter");
  await sees(page, "#sign-in-why", "is not accepted");
  await page.getByLabel("Room token").fill(await mint());
  await page.keyboard.press("Enter");
  await sees(page, "#terminal-state", "Live");
});

it("takes the one of a link that is followed where the page is open already", async () => {
  const page = await (await person({ excused: /401/ })).newPage();
  await page.goto(pageOf());
  await page.getByRole("dialog", { name: "A token for this room" }).waitFor();
  await page.goto(pageOf(await mint()));
  await sees(page, "#terminal-state", "Live");
  expect(page.url()).toBe(pageOf());
});

it("says what a token is not for, and goes on with the rest", async () => {
  const page = await enter(await person({ excused: /403|WebSocket/ }), pageOf(await mint(["exec", "attach", "read"])));
  await sees(page, "#files-fault", "forbidden");
  await type(page, "echo no files $((2 + 2))");
  await sees(page, SCREEN, "no files 4");
});

it("serves a web app at another origin: docs/examples/embed.html", async () => {
  const context = await person({ excused: /favicon|400/ });
  const page = await context.newPage();
  await page.goto(appOrigin);
  await page.locator("#room[href]").waitFor();
  expect(await page.content()).not.toContain(KEY);
  await page.getByLabel("Command").fill("echo from $((40 + 2)) afar; echo '<b>é</b>' >&2; exit 7");
  await page.getByRole("button", { name: "Run" }).click();
  await sees(page, "#output", "from 42 afar <b>é</b> exit code 7");
  await page.getByLabel("Command").fill("");
  await page.getByRole("button", { name: "Run" }).click();
  await sees(page, "#output", "invalid request");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open the room" }).click();
  const room = await opened;
  await sees(room, "#terminal-state", "Live");
  await sees(room, "#history-list", "from $((40 + 2)) afar");
});
