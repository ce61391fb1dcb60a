import { mkdirSync } from "node:fs";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";

let browser: Browser;
/** Those of the test, with what their consoles told as errors. */
const people: { context: BrowserContext; faults: string[] }[] = [];

/** Has a test file run one Chromium: the one that CHROMIUM names, or that of the system. */
export function useBrowser(): void {
  beforeAll(async () => {
    const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] }); // it is root's, and sees our pages alone
  });
  afterEach(async () => {
    const all = people.splice(0);
    for (const { context } of all) await context.close();
    expect(all.flatMap(({ faults }) => faults)).toEqual([]);
  });
  afterAll(() => browser.close());
}

export interface PersonOptions extends BrowserContextOptions {
  name?: string;
  /** Console errors that belong to the test. */
  excused?: RegExp;
}

/** Somebody with a browser of their own. Whatever their console tells as an error fails the test at its end, before what it leaves is removed. */
export async function person({ name, excused, ...options }: PersonOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(20_000);
  const named = `if (location.protocol === "http:") localStorage.setItem("roombox-name", ${JSON.stringify(name)})`;
  if (name !== undefined) await context.addInitScript({ content: named });
  const faults: string[] = [];
  people.push({ context, faults });
  context.on("console", (message) => {
    const text = `${message.type()}: ${message.text()}`;
    if (message.type() === "error" && !excused?.test(text)) faults.push(text);
  });
  context.on("weberror", (error) => faults.push(`${error.error()}`));
  return context;
}

/** Waits until an element has a text; blanks count as one. */
export const sees = (page: Page, selector: string, text: string | RegExp) =>
  page.locator(selector).filter({ hasText: text }).first().waitFor();

/** The room's page, once its terminal is attached. */
export async function enter(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  await sees(page, "#terminal-state", "Live");
  return page;
}

export const SCREEN = "#screen .xterm-rows";

/** Types a line into the terminal, once its prompt is there. */
export async function type(page: Page, line: string): Promise<void> {
  await sees(page, SCREEN, "$");
  await page.locator("#screen textarea").focus();
  await page.keyboard.type(`${line}\n`);
}

/** What was seen is kept for people to look at. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync("build/screenshots", { recursive: true });
  await page.screenshot({ path: `build/screenshots/${name}.png` });
}
