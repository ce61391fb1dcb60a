import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { expect, it, onTestFinished } from "vitest";
import { enter, person, picture, SCREEN, sees, type, useBrowser } from "./browser";
import { call, callJson, detach, exec, newRoom, origin, remove } from "./client";
import { cuttable } from "./proxy";

// The page of a room in a real browser, against real sandboxes: what people do with it. Each test has a room of its own.

useBrowser();

/** A room that is deleted in the end. */
function room(): string {
  const name = newRoom();
  onTestFinished(async () => {
    await remove(name);
  });
  return name;
}
const pageOf = (name: string, from = origin()) => `${from}/rooms/${name}`;
const filePath = (name: string, file: string) => `/api/rooms/${name}/sandbox/files/workspace/${file}`;
const contents = async (name: string, file: string) => (await call("GET", filePath(name, file))).text();

async function run(page: Page, command: string): Promise<void> {
  await page.getByLabel("Command").fill(command);
  await page.keyboard.press("Enter");
}

it("shows what a command prints that was typed, and after a reload the same screen", async () => {
  const page = await enter(await person(), pageOf(room()));
  await type(page, "echo $((20 + 22)) typed, rows $(stty size)");
  await sees(page, SCREEN, "42 typed");
  const [, told] = /rows (\d+) \d/.exec((await page.locator(SCREEN).textContent()) ?? "") ?? [];
  expect(await page.locator(`${SCREEN} > div`).count()).toBe(Number(told));
  await page.reload();
  await sees(page, SCREEN, "42 typed");
  await type(page, "echo $((40 + 3)) again");
  await sees(page, SCREEN, "43 again");
});

it("lets two people see each other, and what each of them types, in the size of who typed last", async () => {
  const name = room();
  const [ada, grace] = await Promise.all([
    person({ name: "Ada <b>" }).then((context) => enter(context, pageOf(name))),
    person({ name: "Grace", viewport: { width: 1000, height: 600 } }).then((context) => enter(context, pageOf(name))),
  ]);
  await sees(ada, "#people", "Grace");
  await sees(grace, "#people", "Ada <b>");
  await type(ada, "echo from $((1 + 1)) Ada");
  for (const page of [ada, grace]) await sees(page, SCREEN, "from 2 Ada");
  await type(grace, "clear; echo rows $(stty size)");
  for (const page of [ada, grace]) await sees(page, SCREEN, /rows \d+ \d+/);
  const rows = (page: Page) => page.locator(`${SCREEN} > div`).count();
  const [, told] = /rows (\d+)/.exec((await grace.locator(SCREEN).textContent()) ?? "") ?? [];
  expect([await rows(ada), await rows(grace)]).toEqual([Number(told), Number(told)]);
  expect((await callJson(200, "GET", `/api/rooms/${name}/sandbox/executions?status=running`)).executions).toHaveLength(
    1,
  );
  await picture(ada, "two-people");
  await grace.close();
  await ada.locator("#alone").waitFor();
  await expect.poll(() => rows(ada)).toBeGreaterThan(Number(told)); // its own again
});

it("says that the shell has ended, and begins one for all at a key", async () => {
  const name = room();
  const [first, second] = await Promise.all([1, 2].map(async () => enter(await person({}), pageOf(name))));
  if (!first || !second) throw new Error("two pages");
  await type(first, "exit 3");
  for (const page of [first, second]) await sees(page, SCREEN, "ended with exit code 3. Press Enter");
  await first.locator("#screen textarea").focus();
  await first.keyboard.press("Enter");
  for (const page of [first, second]) await sees(page, "#terminal-state", "Live");
  await type(second, "echo new $((3 + 4)) shell");
  for (const page of [first, second]) await sees(page, SCREEN, "new 7 shell");
});

it("comes back to the terminal by itself when the line was lost", async () => {
  const name = room();
  const line = await cuttable(origin());
  const page = await enter(await person({ excused: /WebSocket|ERR_/ }), pageOf(name, line.url));
  await type(page, "echo before $((5 + 5))");
  await sees(page, SCREEN, "before 10");
  line.cut();
  await exec(name, "true");
  await type(page, "echo after $((6 + 6))");
  await sees(page, SCREEN, "after 12");
});

it("runs a command, live, and has it in the history with status, exit code and duration", async () => {
  const name = room();
  const page = await enter(await person(), pageOf(name));
  await run(page, "echo one; until [ -e go ]; do sleep 0.05; done; echo two >&2; exit 3");
  await sees(page, "#output", "one");
  await sees(page, "#history-list li[data-status=running]", "echo one");
  await callJson(201, "PUT", filePath(name, "go"), "");
  await sees(page, "#output .stderr", "two");
  await sees(page, "#run-state", /^Exit code 3 after [\d.]+ m?s$/);
  await sees(page, "#history-list li[data-status=completed]", /echo one.*exit 3\s*[\d.]+ m?s/);
  await exec(name, "echo by somebody else");
  await page.locator("#history-list button").filter({ hasText: "by somebody else" }).first().click();
  await sees(page, "#output", "by somebody else");
  await page.getByRole("button", { name: "Run again" }).click();
  await expect.poll(() => page.locator("#history-list li").filter({ hasText: "by somebody else" }).count()).toBe(2);
  await run(page, "sleep 100");
  await page.getByRole("button", { name: "Stop" }).click();
  await sees(page, "#run-state", "SIGKILL, cancelled");
});

it("shows output as text whatever it is, and of a long one the end", async () => {
  const page = await enter(await person(), pageOf(room()));
  await run(page, `printf '<img src=x onerror="throw 1">\\033[31mred\\033[0m\\033]0;title\\007.\\r\\n'`);
  await sees(page, "#output", '<img src=x onerror="throw 1">red.');
  expect(await page.locator("#output img").count()).toBe(0);
  await run(page, "seq 1 400000");
  await sees(page, "#run-state", "Exit code 0");
  await sees(page, "#output", "400000");
  await page.locator("#output-cut").waitFor();
  expect(((await page.locator("#output").textContent()) ?? "").length).toBeLessThan(300 << 10);
});

it("takes files in, shows, changes, gives out and deletes them", async () => {
  const name = room();
  const page = await enter(await person({ excused: /412/ }), pageOf(name));
  const entry = (text: string) => page.getByRole("treeitem", { name: text, exact: true });
  await sees(page, "#files-fault", "The folder is empty.");
  await page
    .getByLabel("Files to upload")
    .setInputFiles({ name: "a b.txt", mimeType: "", buffer: Buffer.from("one\n") });
  await entry("a b.txt").waitFor();
  await page.getByRole("button", { name: "New folder" }).click();
  await page.locator("#ask-text").fill("deep");
  await page.keyboard.press("Enter");
  const dropped = await page.evaluateHandle(`(() => {
    const data = new DataTransfer();
    data.items.add(new File([new Uint8Array([0, 255, 7])], "dropped.bin"));
    return data;
  })()`);
  await entry("deep, folder").dispatchEvent("drop", { dataTransfer: dropped });
  await expect.poll(async () => (await call("GET", filePath(name, "deep/dropped.bin"))).status).toBe(200);
  await entry("deep, folder").click();
  await entry("dropped.bin").click();
  await sees(page, "#editor-state", "3 B that are no text");

  await entry("a b.txt").click();
  const text = page.getByLabel("Text of the file");
  await expect.poll(() => text.inputValue()).toBe("one\n");
  await text.fill("two\n");
  await page.keyboard.press("Control+s");
  await sees(page, "#editor-state", "Saved");
  expect(await contents(name, "a%20b.txt")).toBe("two\n");
  await callJson(200, "PUT", filePath(name, "a%20b.txt"), "theirs\n");
  await text.fill("mine\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await sees(page, "#editor-state", "Not saved: the file has been changed");
  expect(await contents(name, "a%20b.txt")).toBe("theirs\n");
  await picture(page, "conflict");
  await page.getByRole("button", { name: "Save mine over it" }).click();
  await sees(page, "#editor-state", "Saved");
  expect(await contents(name, "a%20b.txt")).toBe("mine\n");

  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  const file = await download;
  expect(file.suggestedFilename()).toBe("a b.txt");
  expect(`${readFileSync(await file.path())}`).toBe("mine\n");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.locator("#ask-yes").click();
  await entry("a b.txt").waitFor({ state: "detached" });
  expect((await call("GET", filePath(name, "a%20b.txt"))).status).toBe(404);
  expect(await page.locator("#editor").isHidden()).toBe(true);
});

it("shows names of files as they are, and opens those that are no UTF-8", async () => {
  const name = room();
  await exec(name, `printf hostile > '<img src=x>"'; printf bytes > "$(printf 'a\\377')"`);
  const page = await enter(await person(), pageOf(name));
  await page.getByRole("treeitem", { name: '<img src=x>"', exact: true }).waitFor();
  await page.getByRole("treeitem", { name: "a\ufffd", exact: true }).click();
  await expect.poll(() => page.getByLabel("Text of the file").inputValue()).toBe("bytes");
});

it("links to ports, which it finds", async () => {
  const name = room();
  await exec(name, "echo '<h1>from port 3000</h1>' > index.html");
  await detach(name, "exec python3 -m http.server 3000");
  await (await call("GET", `/api/rooms/${name}/sandbox/ports/3000/?wait_ms=10000`)).text();
  const context = await person({ excused: /favicon|404/ });
  const page = await enter(context, pageOf(name));
  await page.getByRole("button", { name: "Find" }).click();
  const link = page.getByRole("link", { name: "Open port 3000" });
  expect(await link.getAttribute("rel")).toContain("noopener");
  const opened = context.waitForEvent("page");
  await link.click();
  await sees(await opened, "h1", "from port 3000");
});

it("wakes a room that sleeps, and finds its files", async () => {
  const name = room();
  await exec(name, "echo kept > kept.txt");
  await callJson(200, "POST", `/api/rooms/${name}/sleep`);
  const page = await enter(await person(), pageOf(name));
  await page.getByRole("treeitem", { name: "kept.txt" }).waitFor();
  await type(page, "cat kept.txt; echo $((50 + 5))");
  await sees(page, SCREEN, /kept\s*55/);
});

it("does not begin a room anew that was deleted, unless somebody wants it", async () => {
  const name = room();
  const page = await enter(await person({ excused: /404/ }), pageOf(name));
  await type(page, "echo ready $((1 + 1))");
  await sees(page, SCREEN, "ready 2");
  await remove(name);
  await sees(page, SCREEN, "Press Enter for a new shell");
  expect((await callJson(200, "GET", `/api/rooms/${name}`)).status).toBe("absent");
  await page.locator("#screen textarea").focus();
  await page.keyboard.press("Enter");
  await sees(page, "#terminal-state", "Live");
  await sees(page, "#alone", "Only you");
});

it("works by keyboard alone", async () => {
  const page = await enter(await person(), pageOf(room()));
  const focused = () => page.evaluate('document.activeElement.closest("section")?.id');
  for (const [key, panel] of [
    ["Alt+2", "run"],
    ["Alt+4", "ports"],
    ["Alt+1", "terminal"],
    ["F6", "run"],
    ["Shift+F6", "terminal"],
  ] as const) {
    await page.keyboard.press(key);
    expect(await focused(), key).toBe(panel);
  }
  await page.keyboard.press("Alt+/");
  await page.getByRole("heading", { name: "Keyboard" }).waitFor();
  await picture(page, "keyboard");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Alt+2");
  await page.keyboard.type("mkdir made && touch made/inside");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem", { name: "made, folder" }).waitFor();
  await page.keyboard.press("Alt+3");
  for (const key of ["ArrowRight", "ArrowDown"]) {
    await page.keyboard.press(key);
    await page.getByRole("treeitem", { name: "inside" }).waitFor();
  }
  expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe("inside");
});

it("fits a phone", async () => {
  const name = room();
  const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
  const others = await Promise.all(["Ada", "Grace", "Edsger"].map((each) => person({ name: each })));
  const page = await enter(await person({ ...phone, name: "Somebody with a long name" }), pageOf(name));
  await type(page, "echo phone $((7 + 7))");
  await sees(page, SCREEN, "phone 14");
  for (const other of others) await enter(other, pageOf(name));
  await sees(page, "#people", /Ada.*Edsger.*Grace/);
  for (const panel of ["Run", "Files", "Ports", "Terminal"]) {
    await page.getByRole("button", { name: panel, exact: true }).last().tap();
    await page.getByRole("heading", { name: panel, exact: true }).waitFor();
    expect(await page.evaluate("document.documentElement.scrollWidth"), panel).toBeLessThanOrEqual(390);
  }
  await picture(page, "phone");
});

it("is light or dark as the reader has it, and the terminal with it", async () => {
  const name = "demo"; // it is in the pictures
  await remove(name);
  onTestFinished(async () => {
    await remove(name);
  });
  const ada = await enter(await person({ name: "Ada", colorScheme: "light" }), pageOf(name));
  await furnish(ada, name);
  const grace = await enter(await person({ name: "Grace", colorScheme: "dark" }), pageOf(name));
  for (const [page, other, scheme] of [
    [ada, "Grace", "light"],
    [grace, "Ada", "dark"],
  ] as const) {
    await sees(page, "#people", other);
    await sees(page, SCREEN, "hello, Grace");
    await page.locator("#history-list button").filter({ hasText: "seq" }).first().click();
    await sees(page, "#run-state", "Exit code 0");
    await page.getByRole("treeitem", { name: "hello.py" }).click();
    await expect.poll(() => page.getByLabel("Text of the file").inputValue()).toContain("print");
    const places = await Promise.all(["body", "#run", "#screen"].map((place) => isLight(page, place)));
    expect(places).toEqual(Array(3).fill(scheme === "light"));
    await picture(page, scheme);
  }
});

async function isLight(page: Page, place: string): Promise<boolean> {
  const colour = await page.evaluate(`getComputedStyle(document.querySelector("${place}")).backgroundColor`);
  const [red = 0, green = 0, blue = 0] = `${colour}`.match(/[\d.]+/g)?.map(Number) ?? [];
  return red + green + blue > 384;
}

/** Something to be seen. */
async function furnish(page: Page, name: string): Promise<void> {
  await call(
    "PUT",
    filePath(name, "hello.py"),
    'import sys\n\nfor name in sys.argv[1:] or ["world"]:\n    print(f"hello, {name}")\n',
  );
  await exec(name, "mkdir -p src tests && touch src/app.py tests/test_app.py README.md");
  await exec(name, "seq 1 3; echo done >&2");
  await exec(name, "test -e missing");
  await type(page, "ls --color && python3 hello.py Ada Grace");
}

it("says what each thing is that one can reach", async () => {
  const page = await enter(await person(), pageOf(room()));
  await run(page, "touch a; echo named");
  await sees(page, "#run-state", "Exit code 0");
  await page.getByRole("treeitem", { name: "a", exact: true }).click();
  const client = await page.context().newCDPSession(page);
  const { nodes } = await client.send("Accessibility.getFullAXTree");
  const reached = ["button", "link", "textbox", "spinbutton", "treeitem", "tree", "list", "region", "log", "dialog"];
  const nameless = nodes.filter(
    ({ ignored, role, name }) => !ignored && reached.includes(`${role?.value}`) && !name?.value,
  );
  expect(nameless.map(({ role, properties, nodeId }) => ({ role: role?.value, nodeId, properties }))).toEqual([]);
  expect(nodes.filter(({ role }) => role?.value === "button").length).toBeGreaterThan(10);
  expect(await page.evaluate('document.querySelectorAll("main, header, nav").length')).toBe(3);
});

it("is painted within a second, weighs less than 300 KB, and lets no foreign script run", async () => {
  const name = room();
  const context = await person({ excused: /Content Security Policy/ });
  const page = await enter(context, pageOf(name));
  const loaded = new Map<string, number>();
  page.on("response", async (response) => {
    const { pathname } = new URL(response.url());
    if (!pathname.startsWith("/api/")) loaded.set(pathname, gzipSync(await response.body()).byteLength);
  });
  const paints: number[] = [];
  let policy = "";
  const client = await context.newCDPSession(page);
  await client.send("Network.setCacheDisabled", { cacheDisabled: true });
  while (paints.length < 5) {
    const document = await page.goto(pageOf(name));
    policy = document?.headers()["content-security-policy"] ?? "";
    paints.push(await firstPaint(page));
    await sees(page, "#terminal-state", "Live");
  }
  const total = [...loaded.values()].reduce((sum, size) => sum + size, 0);
  console.log(
    `first contentful paint after ${paints.map(Math.round)} ms; ${loaded.size} files, ${total} bytes gzipped`,
  );
  expect(Math.min(...paints)).toBeLessThan(1000); // the best of them: others may use the machine
  expect(loaded.size).toBeGreaterThan(4);
  expect(total).toBeLessThan(300_000);
  expect(policy).toContain("default-src 'none'; script-src 'self';");
  const ran = page.evaluate(`new Promise((resolve) => {
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective));
    const script = document.createElement("script");
    script.textContent = "document.dispatchEvent(new Event('foreign'))";
    document.addEventListener("foreign", () => resolve("it ran"));
    document.body.append(script);
  })`);
  expect(await ran).toBe("script-src-elem");
});

const firstPaint = (page: Page) =>
  page.evaluate(`new Promise((resolve) => {
    new PerformanceObserver((list) => {
      for (const { startTime } of list.getEntriesByName("first-contentful-paint")) resolve(startTime);
    }).observe({ type: "paint", buffered: true });
  })`) as Promise<number>;
