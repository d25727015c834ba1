/** The answer, the key figures and the tables: everything that is text. */

import { DeviceFacts, Facts } from "./data";
import { element } from "./dom";
import { baseName, formatBytes, formatCount, formatMany, formatShare } from "./format";
import { History } from "./history";

/** The verdict in words. */
export function renderVerdict({ verdict, source_name }: Facts): HTMLElement {
  const isCalm = verdict.class === "none";
  const place = verdict.file === null ? null : `${verdict.file}${verdict.line === null ? "" : `:${verdict.line}`}`;
  return element(
    "header",
    { class: `verdict ${isCalm ? "calm" : "alarm"}` },
    element(
      "p",
      { class: "class-line" },
      element("span", { class: "class" }, isCalm ? "nothing ran out" : verdict.class.replaceAll("_", " ")),
      element("bdi", { class: "source faint" }, source_name),
    ),
    element("h1", {}, verdict.summary),
    element(
      "p",
      { class: "blame" },
      place === null ? null : element("bdi", { class: "line" }, place),
      verdict.bytes === null ? null : element("b", {}, formatBytes(verdict.bytes)),
    ),
    verdict.proof === "" ? null : element("p", { class: "proof" }, element("b", {}, "Proof: "), verdict.proof),
    verdict.advice.length === 0
      ? null
      : element("ul", { class: "advice" }, ...verdict.advice.map((advice) => element("li", {}, advice))),
  );
}

/** The figures of one device. */
export function renderFigures(facts: DeviceFacts, eventCount: number): HTMLElement {
  const figures: [string, string][] = [
    ["peak allocated", formatBytes(facts.peak_allocated_bytes)],
    ["peak reserved", formatBytes(facts.peak_reserved_bytes)],
  ];
  if (facts.limit_bytes !== null) figures.push(["limit", formatBytes(facts.limit_bytes)]);
  else if (facts.total_bytes !== null) figures.push(["card", formatBytes(facts.total_bytes)]);
  figures.push(["events", formatCount(eventCount)]);
  return element(
    "dl",
    { class: "figures" },
    ...figures.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
}

/** What was kept from step to step; what each line held, and what nobody did, at the moment that was measured. */
export function renderTables(facts: DeviceFacts, history: History): HTMLElement[] {
  const sections: HTMLElement[] = [];
  if (facts.leaks.length > 0) {
    const rows = facts.leaks.map((leak) => [
      place(leak.file, leak.line),
      formatBytes(leak.bytes),
      leak.bytes_per_step === null ? "–" : formatBytes(leak.bytes_per_step),
      formatCount(leak.blocks),
    ]);
    sections.push(section("Kept from step to step", ["line", "kept", "a step", "blocks"], rows));
  }
  if (facts.lines.length > 0) {
    const rows = facts.lines.map((line) => [
      place(line.file, line.line, line.function),
      formatBytes(line.bytes),
      formatShare(line.bytes, history.heldBytes[facts.measured_at] ?? 0),
      formatCount(line.blocks),
    ]);
    const title = `Who held memory ${measuredMoment(facts, history)}`;
    sections.push(section(title, ["line", "held", "share", "blocks"], rows));
  }
  if (facts.fragmentation.length > 0) {
    const reserved = history.reservedBytes[facts.measured_at] ?? 0;
    const rows = facts.fragmentation.map(({ what, bytes }) => [what, formatBytes(bytes), formatShare(bytes, reserved)]);
    const title = `Reserved but not held ${measuredMoment(facts, history)}`;
    sections.push(section(title, ["what", "bytes", "of reserved"], rows));
  }
  return sections;
}

/** The moment that was measured, in words. */
function measuredMoment({ measured_at, peak_event }: DeviceFacts, { device }: History): string {
  if (device.failures.some(({ event }) => event === measured_at)) return "when it ran out";
  return measured_at === peak_event ? "at the peak" : `after event ${formatCount(measured_at)}`;
}

function place(file: string, line: number, functionName = ""): HTMLElement {
  return element(
    "span",
    { title: file },
    element("bdi", { class: "line" }, line > 0 ? `${baseName(file)}:${line}` : baseName(file) || "no Python frame"),
    " ",
    element("bdi", { class: "faint" }, functionName),
  );
}

/** Rows shown without asking. */
const ROWS_SHOWN = 12;

function section(title: string, headings: string[], rows: (string | HTMLElement)[][]): HTMLElement {
  const rest = rows.slice(ROWS_SHOWN);
  return element(
    "section",
    { class: "card table" },
    element("h2", {}, title),
    table(headings, rows.slice(0, ROWS_SHOWN)),
    rest.length === 0
      ? null
      : element("details", {}, element("summary", {}, formatMany(rest.length, "more line")), table(headings, rest)),
  );
}

function table(headings: string[], rows: (string | HTMLElement)[][]): HTMLElement {
  const head = element("tr", {}, ...headings.map((heading) => element("th", { scope: "col" }, heading)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
