/** Puts the page together and keeps its parts on the same moment. */

import uplotStyle from "uplot/dist/uPlot.min.css";

import { ACTIONS, decodePayload, Device, DeviceFacts, Facts, Payload, Stacks, unpack } from "./data";
import { choice, element, fill } from "./dom";
import { formatBytes } from "./format";
import { FlameGraph } from "./flame";
import { Grouping, groupByCategory, groupByLine, groupByVerdict, GroupKind, hasAccused, hasCategories } from "./grouping";
import { History } from "./history";
import pageStyle from "./page.css";
import { renderPlanHead, renderPlanOverview } from "./plan";
import { SegmentMap } from "./segment_map";
import { Sources } from "./snippet";
import { renderKept, renderLines, renderMeasuredModules, renderUnused } from "./tables";
import { onThemeChange } from "./theme";
import { describeMoment, Timeline } from "./timeline";
import { renderFigures, renderVerdict } from "./verdict";

/** How far shift and an arrow key move: this part of the shown events. */
const BIG_STEP_SHARE = 0.02;

/** The view of one device: all charts show the same event. */
class DeviceView {
  readonly root = element("div", { class: "device" });
  readonly history: History;
  readonly timeline: Timeline;
  readonly segmentMap: SegmentMap;
  readonly flame: FlameGraph;
  selectedEvent = 0;
  private readonly moment = element("span", { class: "moment", "aria-live": "polite" });
  private followFlame = false;
  private mapPending = false;

  constructor(
    private readonly device: Device,
    private readonly facts: DeviceFacts,
    private readonly stacks: Stacks,
    private readonly page: Facts,
    sources: Sources,
  ) {
    this.history = new History(device);
    this.timeline = new Timeline({
      history: this.history,
      facts,
      peakEvent: this.peakEvent,
      onSelect: (event) => this.select(event),
    });
    this.segmentMap = new SegmentMap(this.history, stacks, page.has_clock);
    this.flame = new FlameGraph(this.history, stacks, page.verdict);
    fill(
      this.root,
      renderFigures(facts, device.eventCount),
      this.timelineCard(),
      renderKept(facts, sources),
      renderLines(facts, this.history, sources),
      page.plan ? null : renderMeasuredModules(facts, this.history),
      this.flameCard(),
      element("section", { class: "card" }, element("h2", {}, "Segments ", this.moment), this.segmentMap.root),
      renderUnused(facts, this.history),
    );
  }

  get peakEvent(): number {
    return Math.min(this.facts.peak_event, Math.max(this.device.eventCount - 1, 0));
  }

  /** The last request that failed, if any did. */
  get oomEvent(): number | undefined {
    return this.device.failures.at(-1)?.event;
  }

  /** Draws everything; the view must be in the document, for charts take their size from it. */
  start(): void {
    this.setGroupKind(this.defaultGroupKind);
    this.flame.show(this.peakEvent);
    this.select(this.oomEvent ?? this.peakEvent);
  }

  /** Shows the moment after an event everywhere. */
  select(event: number): void {
    this.selectedEvent = Math.min(Math.max(event, 0), this.device.eventCount - 1);
    this.timeline.select(this.selectedEvent);
    const action = ACTIONS[this.device.action[this.selectedEvent]];
    fill(this.moment, `after ${describeMoment(this.history, this.selectedEvent, action, this.page.has_clock)}`);
    if (this.mapPending) return;
    // Scrubbing moves faster than a map can be drawn: the last moment asked for in a frame is the one shown.
    this.mapPending = true;
    requestAnimationFrame(() => {
      this.mapPending = false;
      this.segmentMap.show(this.selectedEvent);
      if (this.followFlame) this.flame.show(this.selectedEvent);
    });
  }

  redraw(): void {
    this.timeline.rebuild();
    this.segmentMap.draw();
    this.flame.draw();
  }

  dispose(): void {
    this.segmentMap.dispose();
    this.flame.dispose();
  }

  /** Moves the selection by events. */
  step(direction: number, big: boolean): void {
    const { from, to } = this.timeline.window;
    const far = Math.max(Math.round(((to - from) / this.timeline.axisEnd) * this.device.eventCount * BIG_STEP_SHARE), 1);
    this.select(this.selectedEvent + direction * (big ? far : 1));
  }

  private get defaultGroupKind(): GroupKind {
    return hasCategories(this.device) ? "category" : "line";
  }

  private setGroupKind(kind: GroupKind): void {
    const makers: Record<GroupKind, () => Grouping> = {
      category: () => groupByCategory(this.device),
      line: () => groupByLine(this.history, this.stacks, this.page.verdict, this.peakEvent),
      verdict: () => groupByVerdict(this.device),
    };
    const grouping = makers[kind]();
    this.timeline.setGrouping(grouping);
    this.segmentMap.setGrouping(grouping);
  }

  private timelineCard(): HTMLElement {
    const kinds: GroupKind[] = hasAccused(this.device) ? ["category", "line", "verdict"] : ["category", "line"];
    const group = choice<GroupKind>(
      "group by",
      kinds.map((kind) => ({ value: kind, text: kind })),
      this.defaultGroupKind,
      (kind) => this.setGroupKind(kind),
    );
    const axis = choice<"event" | "time">(
      "axis",
      [
        { value: "event", text: "events" },
        { value: "time", text: "time" },
      ],
      "event",
      (kind) => this.timeline.setAxis(kind),
    );
    const jumps = element("span", { class: "choice", role: "group" }, this.button("peak (p)", () => this.select(this.peakEvent)));
    const oom = this.oomEvent;
    if (oom !== undefined) jumps.append(this.button("out of memory (o)", () => this.select(oom)));
    jumps.append(this.button("whole history (0)", () => this.timeline.resetZoom()));
    return element(
      "section",
      { class: "card" },
      element("div", { class: "bar" }, element("h2", {}, "Memory over time"), group, this.page.has_clock ? axis : null, jumps),
      this.timeline.root,
      element("p", { class: "hint" }, "Scroll to zoom, drag to pan, click to select a moment; ← and → move by one event."),
    );
  }

  private flameCard(): HTMLElement {
    const moment = choice<"peak" | "selected">(
      "at",
      [
        { value: "peak", text: "the peak" },
        { value: "selected", text: "the selected moment" },
      ],
      "peak",
      (at) => {
        this.followFlame = at === "selected";
        this.flame.show(this.followFlame ? this.selectedEvent : this.peakEvent);
      },
    );
    return element(
      "section",
      { class: "card" },
      element("div", { class: "bar" }, element("h2", {}, "Memory by call stack"), moment),
      this.flame.root,
      element("p", { class: "hint" }, "The outermost call is on top. Click a box to zoom in, and the top one to zoom out."),
    );
  }

  private button(text: string, act: () => void): HTMLButtonElement {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", act);
    return made;
  }
}

/** What tests and curious readers may ask the page. */
interface PageHandle {
  ready: boolean;
  loadMs: number;
  view: DeviceView;
}

declare global {
  interface Window {
    oomph?: PageHandle;
  }
}

function listenForKeys(handle: PageHandle): void {
  document.addEventListener("keydown", (key) => {
    const target = key.target as HTMLElement;
    if (key.ctrlKey || key.metaKey || key.altKey || target.matches("select")) return;
    const { view } = handle;
    const acts: Record<string, () => void> = {
      ArrowLeft: () => view.step(-1, key.shiftKey),
      ArrowRight: () => view.step(1, key.shiftKey),
      p: () => view.select(view.peakEvent),
      o: () => view.oomEvent !== undefined && view.select(view.oomEvent),
      "+": () => view.timeline.zoomAtSelection(0.5),
      "-": () => view.timeline.zoomAtSelection(2),
      "0": () => view.timeline.resetZoom(),
    };
    const act = acts[key.key];
    if (!act) return;
    key.preventDefault();
    act();
  });
}

/** Shows the devices of a page, one at a time. */
function showDevices(page: HTMLElement, facts: Facts, payload: Payload, sources: Sources, openedMs: number): void {
  const host = element("div");
  const open = (at: number): DeviceView => {
    const view = new DeviceView(payload.devices[at], facts.devices[at], payload.stacks, facts, sources);
    fill(host, view.root);
    view.start();
    return view;
  };
  if (facts.devices.length > 1) {
    const options = facts.devices.map(({ ordinal, peak_allocated_bytes }, at) =>
      element("option", { value: String(at) }, `cuda:${ordinal}, peak ${formatBytes(peak_allocated_bytes)}`),
    );
    const select = element("select", {}, ...options);
    select.addEventListener("change", () => {
      handle.view.dispose();
      handle.view = open(Number(select.value));
    });
    page.append(element("label", { class: "device-choice" }, "Device ", select));
  }
  page.append(host);
  const handle: PageHandle = { ready: true, view: open(0), loadMs: performance.now() - openedMs };
  window.oomph = handle;
  onThemeChange(() => handle.view.redraw());
  listenForKeys(handle);
}

async function main(): Promise<void> {
  const openedMs = performance.now();
  const style = document.createElement("style");
  style.textContent = `${uplotStyle}\n${pageStyle}`;
  document.head.append(style);
  const page = document.getElementById("page")!;
  const facts = JSON.parse(document.getElementById("facts")!.textContent!) as Facts;
  const sources = new Sources(facts.snippets);
  if (facts.plan) page.append(renderPlanHead(facts, facts.plan, sources), renderPlanOverview(facts.plan));
  else page.append(renderVerdict(facts, sources));
  try {
    const payload = decodePayload(await unpack(document.getElementById("payload")!.textContent!));
    if (payload.devices.length === 0) {
      page.append(element("p", { class: "hint" }, "No memory events were recorded, so there is nothing to draw."));
      return;
    }
    showDevices(page, facts, payload, sources, openedMs);
  } catch (error) {
    page.append(element("p", { class: "failure" }, `This page cannot show its data: ${String(error)}`));
    throw error;
  }
}

void main();
