/** The tables of one device: what was kept, which lines held memory, and what nobody held. */

import { DeviceFacts, ModuleRow } from "./data";
import { element } from "./dom";
import { formatBytes, formatCount, formatMany, formatShare } from "./format";
import { History } from "./history";
import { renderPlace, Sources } from "./snippet";

type Cell = string | HTMLElement;

/** Rows shown without asking. */
const ROWS_SHOWN = 12;

/** What was kept from one iteration to the next, if anything was. */
export function renderKept(facts: DeviceFacts, sources: Sources): HTMLElement | null {
  if (facts.leaks.length === 0) return null;
  const rows = facts.leaks.map((leak) => [
    renderPlace(sources, leak.file, leak.line),
    formatBytes(leak.bytes),
    leak.bytes_per_step === null ? "–" : formatBytes(leak.bytes_per_step),
    formatCount(leak.blocks),
  ]);
  return section("Kept from one iteration to the next", ["line", "kept", "per iteration", "blocks"], rows);
}

/** What each line had allocated at the moment that was measured. */
export function renderLines(facts: DeviceFacts, history: History, sources: Sources): HTMLElement | null {
  if (facts.lines.length === 0) return null;
  const rows = facts.lines.map((line) => [
    renderPlace(sources, line.file, line.line, line.function),
    formatBytes(line.bytes),
    formatShare(line.bytes, history.heldBytes[facts.measured_at] ?? 0),
    formatCount(line.blocks),
  ]);
  const title = `Memory by line ${measuredMoment(facts, history)}`;
  return section(title, ["line", "allocated", "share", "blocks"], rows);
}

/** What the modules of the model had allocated, if the trace says. */
export function renderModules(title: string, modules: ModuleRow[], allocatedBytes: number): HTMLElement | null {
  if (modules.length === 0) return null;
  const rows = modules.map(({ path, count, bytes }) => [
    element("bdi", { class: "line" }, count > 1 ? `${path} × ${formatCount(count)}` : path),
    formatBytes(bytes),
    formatShare(bytes, allocatedBytes),
  ]);
  return section(title, ["module", "allocated", "share"], rows);
}

/** Modules at the moment that was measured. */
export function renderMeasuredModules(facts: DeviceFacts, history: History): HTMLElement | null {
  const title = `Memory by module of the model ${measuredMoment(facts, history)}`;
  return renderModules(title, facts.modules, history.heldBytes[facts.measured_at] ?? 0);
}

/** Where reserved memory was that no tensor used at the moment that was measured. */
export function renderUnused(facts: DeviceFacts, history: History): HTMLElement | null {
  if (facts.fragmentation.length === 0) return null;
  const reserved = history.reservedBytes[facts.measured_at] ?? 0;
  const rows = facts.fragmentation.map(({ what, bytes }) => [what, formatBytes(bytes), formatShare(bytes, reserved)]);
  const title = `Reserved but not used ${measuredMoment(facts, history)}`;
  return section(title, ["what", "size", "of reserved"], rows);
}

/** The moment that was measured, in words. */
function measuredMoment({ measured_at, peak_event }: DeviceFacts, { device }: History): string {
  if (device.failures.some(({ event }) => event === measured_at)) return "when memory ran out";
  return measured_at === peak_event ? "at the peak" : `after event ${formatCount(measured_at)}`;
}

/** A titled table; what follows its first rows is folded. */
export function section(title: string, headings: string[], rows: Cell[][]): HTMLElement {
  const rest = rows.slice(ROWS_SHOWN);
  return element(
    "section",
    { class: "card table" },
    element("h2", {}, title),
    table(headings, rows.slice(0, ROWS_SHOWN)),
    rest.length === 0
      ? null
      : element("details", {}, element("summary", {}, formatMany(rest.length, "more row")), table(headings, rest)),
  );
}

/** A table whose first column is text and whose others are figures. */
export function table(headings: string[], rows: Cell[][]): HTMLElement {
  const head = element("tr", {}, ...headings.map((heading) => element("th", { scope: "col" }, heading)));
  const body = rows.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
  return element("table", {}, element("thead", {}, head), element("tbody", {}, ...body));
}
