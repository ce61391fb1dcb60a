import { byId } from "./dom.ts";

/** The parts of the page, in the order of their shortcuts. A narrow screen shows one of them. */
export const PANELS = ["terminal", "run", "files", "ports"] as const;
export type Panel = (typeof PANELS)[number];

/** Shows a panel where there is room for one only; elsewhere all are to be seen anyway. */
export function show(panel: Panel): void {
  document.body.dataset.panel = panel;
  for (const each of PANELS) {
    const tab = byId(`tab-${each}`);
    if (each === panel) tab.setAttribute("aria-current", "true");
    else tab.removeAttribute("aria-current");
  }
}

export function listenForTabs(): void {
  for (const panel of PANELS) byId(`tab-${panel}`).addEventListener("click", () => show(panel));
}
