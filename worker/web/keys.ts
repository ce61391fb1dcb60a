import { byId } from "./dom.ts";
import { PANELS, type Panel, show } from "./panels.ts";

/** Alt with a digit goes to a panel, F6 to the next one. The digits by where they are: with Alt some keyboards type other signs. */
const DIGITS = new Map(PANELS.map((panel, n) => [`Digit${n + 1}`, panel]));

/** Whether a key is the page's own, wherever the focus is: the terminal must not have it. */
export function isShortcut(event: KeyboardEvent): boolean {
  const { altKey, ctrlKey, metaKey, code, key } = event;
  if (ctrlKey || metaKey) return false;
  return key === "F6" || (altKey && (DIGITS.has(code) || code === "Slash"));
}

/** @param focus takes the focus to what a panel is for */
export function listenForKeys(focus: (panel: Panel) => void): void {
  const help = byId<HTMLDialogElement>("help");
  byId("show-help").addEventListener("click", () => help.showModal());
  const goTo = (panel: Panel) => {
    show(panel);
    focus(panel);
  };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const wantsHelp = event.key === "?" && !isTyping(event.target);
    if (!wantsHelp && !isShortcut(event)) return;
    event.preventDefault();
    if (wantsHelp || event.code === "Slash") help.showModal();
    else if (event.key === "F6") goTo(next(event.shiftKey ? -1 : 1));
    else goTo(DIGITS.get(event.code) ?? "terminal");
  });
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;

/** The panel after that with the focus. */
function next(step: number): Panel {
  const at = PANELS.findIndex((panel) => byId(panel).contains(document.activeElement));
  return PANELS[(at + step + PANELS.length) % PANELS.length] ?? "terminal";
}
