import { byId } from "./dom.ts";

/** Asks for a line of text, in a dialog; undefined if none is given. */
export async function askText(question: string, value = ""): Promise<string | undefined> {
  const input = byId<HTMLInputElement>("ask-text");
  input.hidden = false;
  input.required = true;
  input.value = value;
  const said = await ask(question, "OK");
  return said && input.value.trim() !== "" ? input.value.trim() : undefined;
}

/** Asks whether to do it. */
export function askWhether(question: string, yes: string): Promise<boolean> {
  const input = byId<HTMLInputElement>("ask-text");
  input.hidden = true;
  input.required = false;
  return ask(question, yes);
}

function ask(question: string, yes: string): Promise<boolean> {
  const dialog = byId<HTMLDialogElement>("ask");
  byId("ask-question").textContent = question;
  byId("ask-yes").textContent = yes;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
