/** The answer in words, and the key figures. */

import { DeviceFacts, Facts, Verdict } from "./data";
import { element } from "./dom";
import { formatBytes, formatCount } from "./format";
import { renderSnippet, Sources } from "./snippet";

/** The head of a page that explains a job which was recorded. */
export function renderVerdict({ verdict, source_name }: Facts, sources: Sources): HTMLElement {
  const isCalm = verdict.class === "none";
  return element(
    "header",
    { class: `verdict ${isCalm ? "calm" : "alarm"}` },
    renderClassLine(isCalm ? "did not run out of memory" : className(verdict), source_name),
    element("h1", {}, verdict.summary),
    ...renderBlame(verdict, sources),
    renderAdvice(verdict.advice),
  );
}

/** The class of a verdict as people write it. */
export function className(verdict: Verdict): string {
  return verdict.class.replaceAll("_", " ");
}

/** The answer in a few words, and what it is about. */
export function renderClassLine(answer: string, sourceName: string): HTMLElement {
  return element(
    "p",
    { class: "class-line" },
    element("span", { class: "class" }, answer),
    element("bdi", { class: "source faint" }, sourceName),
  );
}

/** The line to blame, the source around it, and how it was proved. */
export function renderBlame(verdict: Verdict, sources: Sources): (HTMLElement | null)[] {
  const place = verdict.file === null ? null : `${verdict.file}${verdict.line === null ? "" : `:${verdict.line}`}`;
  const snippet = sources.at(verdict.file, verdict.line);
  const bytes = verdict.bytes === null ? null : element("b", {}, formatBytes(verdict.bytes));
  return [
    // Bytes that no line is to blame for stand in the sentence already.
    place === null ? null : element("p", { class: "blame" }, element("bdi", { class: "line" }, place), bytes),
    snippet ? renderSnippet(snippet) : null,
    verdict.proof === "" ? null : element("p", { class: "proof" }, verdict.proof),
  ];
}

/** What the reader can do. */
export function renderAdvice(advice: string[]): HTMLElement | null {
  if (advice.length === 0) return null;
  return element("ul", { class: "advice" }, ...advice.map((text) => element("li", {}, text)));
}

/** Names with their values, side by side. */
export function renderFigureList(figures: [name: string, value: string][]): HTMLElement {
  const pairs = figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return element("dl", { class: "figures" }, ...pairs);
}

/** The figures of one device. */
export function renderFigures(facts: DeviceFacts, eventCount: number): HTMLElement {
  const figures: [string, string][] = [
    ["peak allocated", formatBytes(facts.peak_allocated_bytes)],
    ["peak reserved", formatBytes(facts.peak_reserved_bytes)],
  ];
  if (facts.limit_bytes !== null) figures.push(["available to PyTorch", formatBytes(facts.limit_bytes)]);
  if (facts.total_bytes !== null) figures.push(["capacity of the card", formatBytes(facts.total_bytes)]);
  figures.push(["events recorded", formatCount(eventCount)]);
  return renderFigureList(figures);
}
