/** An element of the page that its HTML has; throws where it has not. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found as E;
}

type Child = Node | string | undefined | false;

/** Makes an element. Text is text: nothing that others have said is ever read as HTML. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | undefined> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) made.setAttribute(name, "");
    else if (typeof value === "string") made.setAttribute(name, value);
  }
  made.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return made;
}

/** A button with a text, or with a sign that a text names. */
export function button(text: string, onClick: () => void, { sign, kind = "quiet" }: ButtonLooks = {}) {
  const made = make(
    "button",
    { type: "button", class: kind, ...(sign && { "aria-label": text, title: text }) },
    sign ?? text,
  );
  made.addEventListener("click", onClick);
  return made;
}
interface ButtonLooks {
  sign?: string;
  kind?: "quiet" | "main" | "sign";
}
