import { byId, make } from "./dom.ts";
import { reason } from "./format.ts";

const SHOWN_MS = 8_000;

/** Tells something that the reader did not look for; screen readers say it. */
export function notify(text: string): void {
  const notice = make("p", {}, text);
  byId("notices").append(notice);
  setTimeout(() => notice.remove(), SHOWN_MS);
}

/** Carries out what a reader has asked for, and tells if it came to nothing. */
export async function attempt(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    notify(`${what}: ${reason(error)}`);
  }
}
