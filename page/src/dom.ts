/** Building the document. Text goes in as text only: names from files can never become markup. */

import { cleanText } from "./format";

type Child = Node | string | null;

/** Makes an element with attributes and children; `null` children are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  fill(made, ...children);
  return made;
}

/** Replaces what an element holds. */
export function fill(parent: HTMLElement, ...children: Child[]): void {
  const nodes = children.filter((child) => child !== null);
  parent.replaceChildren(...nodes.map((child) => (typeof child === "string" ? cleanText(child) : child)));
}

/** A row of buttons of which one is pressed. */
export function choice<T extends string>(
  label: string,
  options: { value: T; text: string }[],
  chosen: T,
  choose: (value: T) => void,
): HTMLElement {
  const buttons = options.map(({ value, text }) => {
    const button = element("button", { type: "button", "aria-pressed": String(value === chosen), "data-value": value }, text);
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      choose(value);
    });
    return button;
  });
  return element("span", { class: "choice", role: "group", "aria-label": label }, element("span", {}, label), ...buttons);
}
