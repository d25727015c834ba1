/**
 * Memory over time, stacked by group, with zoom and pan.
 *
 * Drawn by uPlot rather than ECharts: it redraws ten stacked series in a few milliseconds, which is what keeps panning
 * over a million events smooth. Marks are positioned elements on top of it.
 */

import uPlot from "uplot";

import { DeviceFacts } from "./data";
import { element, fill } from "./dom";
import { formatBytes, formatCount, formatElapsed, formatTick } from "./format";
import { Grouping } from "./grouping";
import { History } from "./history";
import { MarkLayer, marksOf } from "./marks";
import { PhaseStrip } from "./phases";
import { Pyramid } from "./pyramid";
import { Axis, AxisKind, makeAxis, sampleEvents } from "./sampling";
import { FONT_FAMILY, theme } from "./theme";

const HEIGHT_PX = 310;
const OVERVIEW_HEIGHT_PX = 56;
const AXIS_WIDTH_PX = 74;
/** Room for half of the last label of the x axis. */
const RIGHT_PX = 34;
/** Room above the plot for the names of steps, and for phases where there are any. */
const TOP_PX = 22;
const PHASES_PX = 18;
/** Half of the slider's thumb, which stays inside its track. */
const THUMB_PX = 8;
/** A limit this many times the highest point is not worth squeezing the curves for. */
const LIMIT_SCALE_MAX = 2.5;
/** Pointer movement that turns a click into a drag. */
const CLICK_SLACK_PX = 4;

export interface TimelineOptions {
  history: History;
  facts: DeviceFacts;
  peakEvent: number;
  onSelect: (event: number) => void;
}

/** The part of the x axis that is shown. */
export interface Window {
  from: number;
  to: number;
}

export class Timeline {
  readonly root = element("div", { class: "timeline" });
  window: Window;
  private axis: Axis;
  private grouping!: Grouping;
  private groupBytes: Float64Array[] = [];
  /** Groups that ever hold anything, bottom first. */
  private shownGroups: number[] = [];
  private readonly pyramid: Pyramid;
  private readonly marks: MarkLayer;
  private plot: uPlot | undefined;
  private overview: uPlot | undefined;
  private readonly plotHost = element("div", { class: "plot" });
  private readonly overviewHost = element("div", { class: "overview" });
  private readonly phases: PhaseStrip;
  private readonly cursor = element("div", { class: "mark selected" });
  private readonly legend = element("ul", { class: "legend", "aria-label": "bytes at the selected moment" });
  private readonly slider = element("input", { type: "range", class: "scrub", step: "1", "aria-label": "selected event" });
  private selectedEvent = 0;
  private drawPending = false;
  private readonly yMax: number;

  constructor(private readonly options: TimelineOptions) {
    const { history, facts } = options;
    this.axis = makeAxis("event", history.device.elapsedUs);
    this.window = { from: 0, to: this.axis.end };
    this.pyramid = new Pyramid(history.heldBytes);
    this.marks = new MarkLayer(marksOf(history, facts, options.peakEvent), RIGHT_PX);
    this.phases = new PhaseStrip(facts.phases);
    this.yMax = this.highestBytes();
    this.root.append(this.legend, this.plotHost, this.slider, this.overviewHost);
    this.slider.addEventListener("input", () => options.onSelect(Number(this.slider.value)));
    this.slider.style.marginLeft = `${AXIS_WIDTH_PX - THUMB_PX}px`;
    this.slider.style.width = `calc(100% - ${AXIS_WIDTH_PX + RIGHT_PX - 2 * THUMB_PX}px)`;
    this.listenForPan();
    new ResizeObserver(() => this.resize()).observe(this.plotHost);
  }

  /** Changes what the stack is made of. */
  setGrouping(grouping: Grouping): void {
    this.grouping = grouping;
    this.groupBytes = this.options.history.groupBytes(grouping);
    this.shownGroups = this.groupBytes.flatMap((bytes, group) => (bytes.some((value) => value > 0) ? [group] : []));
    this.rebuild();
  }

  /** Changes between events and seconds; the same events stay in view. */
  setAxis(kind: AxisKind): void {
    const { history } = this.options;
    const last = Math.max(history.device.eventCount - 1, 0);
    const clamp = (event: number) => Math.min(Math.max(event, 0), last);
    const from = clamp(this.axis.eventAt(this.window.from));
    const to = clamp(this.axis.eventAt(this.window.to));
    this.axis = makeAxis(kind, history.device.elapsedUs);
    this.window = { from: this.axis.position(from), to: this.axis.position(to) };
    this.rebuild();
    this.setWindow(this.window);
  }

  /** Shows a part of the axis, clamped to what there is. */
  setWindow({ from, to }: Window): void {
    const smallest = this.axis.kind === "event" ? 8 : this.axis.end / 1e6;
    const length = Math.min(Math.max(to - from, smallest), this.axis.end);
    const start = Math.min(Math.max(from, 0), this.axis.end - length);
    this.window = { from: start, to: start + length };
    this.requestDraw();
  }

  /** Zooms by a factor around a position; below 1 is closer. */
  zoom(factor: number, around: number): void {
    const { from, to } = this.window;
    this.setWindow({ from: around - (around - from) * factor, to: around + (to - around) * factor });
  }

  /** Zooms around the selected event. */
  zoomAtSelection(factor: number): void {
    this.zoom(factor, this.axis.position(this.selectedEvent));
  }

  /** Where the axis ends. */
  get axisEnd(): number {
    return this.axis.end;
  }

  resetZoom(): void {
    this.setWindow({ from: 0, to: this.axis.end });
  }

  /** Marks an event as selected, bringing it into view if need be. */
  select(event: number): void {
    this.selectedEvent = event;
    const position = this.axis.position(event);
    const { from, to } = this.window;
    if (position < from || position > to) {
      this.setWindow({ from: position - (to - from) / 2, to: position + (to - from) / 2 });
    }
    this.slider.value = String(event);
    this.drawLegend();
    this.requestDraw();
  }

  /** Draws again with the colours now in force. */
  rebuild(): void {
    if (!this.grouping) return;
    this.plot?.destroy();
    this.overview?.destroy();
    const data = this.sample(this.window);
    this.plot = new uPlot(this.plotOptions(), data, this.plotHost);
    this.plot.over.append(this.phases.root, this.cursor, this.marks.root);
    this.overview = new uPlot(this.overviewOptions(), this.overviewData(), this.overviewHost);
    this.listenForZoom(this.plot);
    // A plot knows its scales only after it has drawn itself once.
    this.requestDraw();
    this.drawLegend();
  }

  private highestBytes(): number {
    const { history, facts } = this.options;
    const reserved = history.reservedBytes.reduce((max, bytes) => Math.max(max, bytes), 0);
    const held = history.heldBytes.reduce((max, bytes) => Math.max(max, bytes), 0);
    const curves = Math.max(reserved, held, 1);
    const lines = [facts.limit_bytes ?? 0, facts.total_bytes ?? 0].filter((bytes) => bytes <= LIMIT_SCALE_MAX * curves);
    return 1.05 * Math.max(curves, ...lines);
  }

  /** Columns for uPlot: x, the groups from the top of the stack down, reserved bytes, the limit, the card. */
  private sample({ from, to }: Window): uPlot.AlignedData {
    const { history, facts } = this.options;
    const columns = Math.max(this.plotHost.clientWidth - AXIS_WIDTH_PX - RIGHT_PX, 100);
    const { begins, shown } = sampleEvents(this.axis, this.pyramid, history.device.eventCount, from, to, columns);
    const sums = new Float64Array(shown.length);
    const stacked = this.shownGroups.map((group) => {
      const bytes = this.groupBytes[group];
      shown.forEach((event, i) => (sums[i] += bytes[event]));
      return sums.slice();
    });
    return [
      begins.map((event) => this.axis.position(event)),
      ...stacked.reverse(),
      shown.map((event) => history.reservedBytes[event]),
      shown.map(() => facts.limit_bytes),
      shown.map(() => facts.total_bytes),
    ];
  }

  private overviewData(): uPlot.AlignedData {
    const [positions, ...curves] = this.sample({ from: 0, to: this.axis.end });
    return [positions, curves[0], curves[this.shownGroups.length]];
  }

  private plotOptions(): uPlot.Options {
    const colours = theme();
    const stepped = uPlot.paths.stepped!({ align: 1 });
    // The top of the stack is painted first and each lower one over it, so no area has to be cut out.
    const areas = [...this.shownGroups].reverse().map((group): uPlot.Series => {
      const { colour } = this.grouping.groups[group];
      return { fill: colour, stroke: colour, width: 0, paths: stepped, points: { show: false } };
    });
    const line = (stroke: string, dash: number[]): uPlot.Series => ({
      stroke,
      dash,
      width: 1.5,
      paths: stepped,
      points: { show: false },
    });
    return {
      width: this.plotHost.clientWidth,
      height: HEIGHT_PX,
      padding: [TOP_PX + (this.phases.isEmpty ? 0 : PHASES_PX), RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false, points: { show: false } },
      scales: { x: { time: false, range: () => [this.window.from, this.window.to] }, y: { range: [0, this.yMax] } },
      series: [{}, ...areas, line(colours.reserved, []), line(colours.alarm, [6, 4]), line(colours.alarm, [])],
      axes: [this.xAxis(), this.yAxis()],
      // Grid lines are drawn over the areas, which would otherwise hide them.
      drawOrder: ["series", "axes"] as unknown as uPlot.DrawOrderKey[],
      // Marks take their place from the scales that were just drawn, or they would trail one frame behind.
      hooks: { draw: [(plot) => this.drawMarks(plot)] },
    };
  }

  private xAxis(): uPlot.Axis {
    const { text, grid } = theme();
    const label = this.axis.kind === "event" ? (value: number) => formatCount(value) : (value: number) => `${value} s`;
    return {
      stroke: text,
      font: `12px ${FONT_FAMILY}`,
      size: 32,
      label: this.axis.kind === "event" ? "events" : "elapsed time",
      labelFont: `12px ${FONT_FAMILY}`,
      labelSize: 16,
      space: 80,
      grid: { show: false },
      ticks: { stroke: grid },
      values: (_, splits) => splits.map((value) => (this.axis.kind === "event" && value % 1 !== 0 ? "" : label(value))),
    };
  }

  private yAxis(): uPlot.Axis {
    const { text, grid } = theme();
    return {
      stroke: text,
      font: `12px ${FONT_FAMILY}`,
      size: AXIS_WIDTH_PX,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid },
      incrs: Array.from({ length: 50 }, (_, power) => 2 ** power),
      values: (_, splits) => splits.map(formatTick),
    };
  }

  private overviewOptions(): uPlot.Options {
    const colours = theme();
    return {
      width: this.overviewHost.clientWidth,
      height: OVERVIEW_HEIGHT_PX,
      legend: { show: false },
      padding: [0, RIGHT_PX, 0, AXIS_WIDTH_PX],
      cursor: { drag: { x: true, y: false, setScale: false }, y: false, points: { show: false } },
      scales: { x: { time: false, range: () => [0, this.axis.end] }, y: { range: [0, this.yMax] } },
      series: [
        {},
        { fill: colours.free, stroke: colours.faint, width: 1, points: { show: false } },
        { stroke: colours.reserved, width: 1, points: { show: false } },
      ],
      axes: [{ show: false }, { show: false }],
      hooks: { setSelect: [(plot) => this.windowFromOverview(plot)] },
    };
  }

  private windowFromOverview(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width < CLICK_SLACK_PX) return;
    this.setWindow({ from: plot.posToVal(left, "x"), to: plot.posToVal(left + width, "x") });
  }

  /** Draws at most once a frame, however often the window moves. */
  private requestDraw(): void {
    if (this.drawPending) return;
    this.drawPending = true;
    requestAnimationFrame(() => {
      this.drawPending = false;
      this.draw();
    });
  }

  private draw(): void {
    if (!this.plot || !this.overview) return;
    this.plot.setData(this.sample(this.window));
    const left = this.overview.valToPos(this.window.from, "x");
    const width = this.overview.valToPos(this.window.to, "x") - left;
    this.overview.setSelect({ left, width, top: 0, height: this.overview.over.clientHeight }, false);
    const last = Math.max(this.options.history.device.eventCount - 1, 0);
    this.slider.min = String(Math.min(this.axis.eventAt(this.window.from), last));
    this.slider.max = String(Math.min(this.axis.eventAt(this.window.to), last));
    this.slider.value = String(this.selectedEvent);
  }

  private drawMarks(plot: uPlot): void {
    const leftOf = (event: number) => plot.valToPos(this.axis.position(event), "x");
    this.marks.draw(plot, leftOf);
    this.phases.draw(plot, leftOf);
    const left = leftOf(this.selectedEvent);
    this.cursor.hidden = left < 0 || left > plot.over.clientWidth;
    this.cursor.style.transform = `translateX(${left}px)`;
  }

  private drawLegend(): void {
    const { history, facts } = this.options;
    const event = this.selectedEvent;
    const entry = (name: string, colour: string, bytes: number, shape = "") => {
      const swatch = element("i", { class: `swatch ${shape}` });
      swatch.style.setProperty("--colour", colour);
      return element("li", {}, swatch, element("bdi", {}, name), element("b", {}, formatBytes(bytes)));
    };
    const { reserved, alarm } = theme();
    fill(
      this.legend,
      element("li", { class: "faint" }, "at the selected moment:"),
      ...this.shownGroups.map((group) => {
        const { name, colour } = this.grouping.groups[group];
        return entry(name, colour, this.groupBytes[group][event]);
      }),
      entry("reserved", reserved, history.reservedBytes[event], "line"),
      facts.limit_bytes === null ? null : entry(`available to PyTorch${this.isAbove(facts.limit_bytes)}`, alarm, facts.limit_bytes, "line dashed"),
      facts.total_bytes === null ? null : entry(`capacity${this.isAbove(facts.total_bytes)}`, alarm, facts.total_bytes, "line"),
    );
  }

  private isAbove(bytes: number): string {
    return bytes > this.yMax ? " (above this chart)" : "";
  }

  private resize(): void {
    const width = this.plotHost.clientWidth;
    if (!this.plot || !this.overview || width === this.plot.width || width === 0) return;
    this.plot.setSize({ width, height: HEIGHT_PX });
    this.overview.setSize({ width, height: OVERVIEW_HEIGHT_PX });
    this.overview.setData(this.overviewData());
    this.requestDraw();
  }

  private listenForZoom(plot: uPlot): void {
    plot.over.addEventListener(
      "wheel",
      (wheel) => {
        wheel.preventDefault();
        const sideways = Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY);
        if (sideways) this.pan(wheel.deltaX);
        else this.zoom(Math.exp(wheel.deltaY * 0.002), plot.posToVal(wheel.offsetX, "x"));
      },
      { passive: false },
    );
    plot.over.addEventListener("dblclick", () => this.resetZoom());
  }

  private pan(pixels: number): void {
    const width = this.plot?.over.clientWidth ?? 1;
    const shift = (pixels * (this.window.to - this.window.from)) / width;
    this.setWindow({ from: this.window.from + shift, to: this.window.to + shift });
  }

  /** A drag pans, with shift it moves the selection; a press without movement selects. */
  private listenForPan(): void {
    let pressX: number | undefined;
    let lastX = 0;
    let dragged = false;
    this.plotHost.addEventListener("pointerdown", (press) => {
      if (press.button !== 0 || !this.plot?.over.contains(press.target as Node)) return;
      pressX = lastX = press.clientX;
      dragged = false;
      this.plotHost.setPointerCapture(press.pointerId);
    });
    this.plotHost.addEventListener("pointermove", (move) => {
      if (pressX === undefined) return;
      dragged ||= Math.abs(move.clientX - pressX) >= CLICK_SLACK_PX;
      if (dragged && move.shiftKey) this.selectAt(move.clientX);
      else if (dragged) this.pan(lastX - move.clientX);
      lastX = move.clientX;
    });
    const release = (up: PointerEvent) => {
      if (pressX !== undefined && !dragged && up.type === "pointerup") this.selectAt(up.clientX);
      pressX = undefined;
    };
    this.plotHost.addEventListener("pointerup", release);
    this.plotHost.addEventListener("pointercancel", release);
  }

  private selectAt(clientX: number): void {
    if (!this.plot) return;
    const position = this.plot.posToVal(clientX - this.plot.over.getBoundingClientRect().left, "x");
    // The state at a position is that after the last event before it.
    const next = this.axis.eventAt(position + (this.axis.kind === "event" ? 0.5 : 0));
    const last = this.options.history.device.eventCount - 1;
    this.options.onSelect(Math.min(Math.max(next - 1, 0), last));
  }
}

/** What the reader should know about a moment, in one line. */
export function describeMoment(history: History, event: number, action: string, hasClock: boolean): string {
  const { device } = history;
  const elapsed = hasClock ? `, ${formatElapsed(device.elapsedUs[event])}` : "";
  return `event ${formatCount(event)} of ${formatCount(device.eventCount)} (${action})${elapsed}`;
}
