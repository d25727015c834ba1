/** Lines of the user's source, beside the places that are named. */

import { Snippet } from "./data";
import { element } from "./dom";
import { baseName } from "./format";

/** What a tab is drawn as; left as it is, it would be spelled out like other characters that cannot be seen. */
const TAB = "    ";

/** The source around places, where it is known. */
export class Sources {
  constructor(private readonly snippets: Snippet[]) {}

  at(file: string | null, line: number | null): Snippet | undefined {
    return this.snippets.find((snippet) => snippet.file === file && snippet.line === line);
  }
}

/** The lines with their numbers, the named one marked. */
export function renderSnippet({ line, first_line, lines }: Snippet): HTMLElement {
  const rows = lines.map((text, i) => {
    const number = first_line + i;
    return element(
      "li",
      { class: number === line ? "named" : "", value: String(number) },
      element("code", {}, text.replaceAll("\t", TAB) || " "),
    );
  });
  return element("ol", { class: "snippet", tabindex: "0", "aria-label": `source around line ${line}` }, ...rows);
}

/** A place in the code; its own line follows, and a click shows those around it. */
export function renderPlace(sources: Sources, file: string, line: number, functionName = ""): HTMLElement {
  const name = [
    element("bdi", { class: "line" }, line > 0 ? `${baseName(file)}:${line}` : baseName(file) || "no Python frame"),
    " ",
    element("bdi", { class: "faint" }, functionName),
  ];
  const snippet = sources.at(file, line);
  if (!snippet) return element("span", { title: file }, ...name);
  const own = snippet.lines[line - snippet.first_line] ?? "";
  return element(
    "details",
    { class: "place" },
    element("summary", { title: file }, ...name, element("code", {}, own.replaceAll("\t", TAB).trim())),
    renderSnippet(snippet),
  );
}
