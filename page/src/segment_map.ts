/** The picture of all segments at one moment, drawn by ECharts. */

import { CATEGORIES, CATEGORY_UNKNOWN, Stacks } from "./data";
import { ChartOption, ECharts, makeChart, RenderItem, tooltip } from "./charts";
import { element, fill } from "./dom";
import { formatBytes, formatCount, formatElapsed, formatMany, formatTick } from "./format";
import { Grouping, lineName } from "./grouping";
import { History } from "./history";
import { Cell, layOut, MemoryMap, memoryMapAt, SegmentView } from "./segment_layout";
import { FONT_FAMILY, theme } from "./theme";

const ROWS = 18;
const ROW_HEIGHT_PX = 17;
const LABEL_WIDTH_PX = 74;
/** Narrower cells could not be told apart. */
const CELL_WIDTH_MIN_PX = 1;
/** Frames in a tooltip; a click shows them all. */
const TOOLTIP_FRAMES = 8;

export class SegmentMap {
  readonly root = element("div", { class: "segment-map" });
  map!: MemoryMap;
  private cells: Cell[] = [];
  private focused: SegmentView | undefined;
  private event = 0;
  private grouping!: Grouping;
  private readonly chart: ECharts;
  private readonly host = element("div", { class: "chart" });
  private readonly caption = element("p", { class: "caption" });
  private readonly details = element("div", { class: "details" });

  constructor(
    private readonly history: History,
    private readonly stacks: Stacks,
    private readonly hasClock: boolean,
  ) {
    this.host.style.height = `${ROWS * ROW_HEIGHT_PX + 16}px`;
    this.root.append(this.caption, this.host, this.details);
    this.chart = makeChart(this.host, () => this.draw());
    this.chart.on("click", ({ dataIndex }) => this.showDetails(this.cells[dataIndex]));
    this.chart.on("dblclick", ({ dataIndex }) => this.focus(this.cells[dataIndex].segment));
    fill(this.details, element("p", { class: "hint" }, "Click a block to see its stack; double-click to see its segment alone."));
  }

  setGrouping(grouping: Grouping): void {
    this.grouping = grouping;
    this.draw();
  }

  /** Shows the moment after an event. */
  show(event: number): void {
    this.event = event;
    this.map = memoryMapAt(this.history, event);
    this.focused &&= this.map.segments.find((segment) => segment.address === this.focused!.address);
    this.draw();
  }

  dispose(): void {
    this.chart.dispose();
  }

  private focus(segment: SegmentView | undefined): void {
    this.focused = segment;
    this.draw();
  }

  draw(): void {
    if (!this.map || !this.grouping) return;
    const shown = this.focused ? [this.focused] : this.map.segments;
    const totalBytes = shown.reduce((sum, segment) => sum + segment.bytes, 0);
    // A whole number, for then positions within rows are exact.
    const rowBytes = Math.max(Math.ceil(totalBytes / ROWS), 1);
    const widthPx = Math.max(this.chart.getWidth() - LABEL_WIDTH_PX, 1);
    this.cells = layOut(shown, rowBytes, (rowBytes * CELL_WIDTH_MIN_PX) / widthPx);
    this.chart.setOption(this.option(rowBytes), { replaceMerge: ["series"] });
    this.drawCaption();
  }

  private option(rowBytes: number): ChartOption {
    const { faint } = theme();
    return {
      animation: false,
      grid: { left: LABEL_WIDTH_PX, right: 1, top: 8, bottom: 8, outerBoundsMode: "none" },
      xAxis: { type: "value", min: 0, max: rowBytes, show: false },
      yAxis: {
        type: "value",
        inverse: true,
        min: 0,
        max: ROWS,
        interval: 3,
        axisLabel: { color: faint, fontFamily: FONT_FAMILY, fontSize: 11.5, verticalAlign: "top", formatter: (row: number) => (row < ROWS ? formatTick(row * rowBytes) : "") },
        splitLine: { show: false },
        axisLine: { show: false },
        axisTick: { show: false },
      },
      tooltip: tooltip((at) => this.describeTip(at)),
      series: [
        {
          type: "custom",
          renderItem: this.renderCell,
          encode: { x: [0, 1], y: 2 },
          data: this.cells.map((cell) => [cell.from, cell.to, cell.row]),
          progressive: 0,
        },
      ],
    };
  }

  private readonly renderCell: RenderItem = (params, api) => {
    const cell = this.cells[params.dataIndex];
    const [left, top] = api.coord([cell.from, cell.row]);
    const [right] = api.coord([cell.to, cell.row]);
    const height = ROW_HEIGHT_PX - 3;
    // The gap after a segment shows where the driver's memory ends; a block can never cross it.
    const width = Math.max(right - left - (cell.isLast ? 2 : 0), 0.5);
    return {
      type: "rect",
      shape: { x: left, y: top, width, height },
      style: this.cellStyle(cell, width),
      emphasis: { style: { stroke: theme().text, lineWidth: 1.5 } },
    };
  };

  private cellStyle({ piece }: Cell, width: number): Record<string, unknown> {
    const colours = theme();
    if (piece.block < 0) return { fill: colours.free };
    const group = piece.waiting ? this.grouping.waitingGroup : this.grouping.group[piece.block];
    const border = width > 4 ? { stroke: colours.surface, lineWidth: 0.6 } : {};
    return { fill: this.grouping.groups[group].colour, ...border };
  }

  private describeTip(dataIndex: number): HTMLElement {
    const cell = this.cells[dataIndex];
    return cell ? element("div", { class: "tooltip" }, ...this.describe(cell, TOOLTIP_FRAMES)) : element("div");
  }

  /** What is known about a cell, with at most so many frames of its stack. */
  private describe({ piece, segment }: Cell, framesMax: number): HTMLElement[] {
    const inSegment = element("p", { class: "faint" }, this.describeSegment(segment));
    if (piece.block < 0) return [element("p", {}, element("b", {}, formatBytes(piece.bytes)), " free"), inSegment];
    const { blocks, elapsedUs } = this.history.device;
    const block = piece.block;
    const frame = this.stacks.frames[this.stacks.blameFrame[blocks.stack[block]]];
    const category = blocks.category[block];
    const purpose = category === CATEGORY_UNKNOWN ? "" : `${CATEGORIES[category]} · `;
    const several = piece.blockCount > 1 ? ` in ${formatCount(piece.blockCount)} blocks, the largest:` : "";
    const start = blocks.start[block];
    const elapsed = this.hasClock && start > 0 ? `, ${formatElapsed(elapsedUs[start - 1])}` : "";
    const since = start === 0 ? "a time before the history begins" : `event ${formatCount(start - 1)}${elapsed}`;
    return [
      element("p", {}, element("b", {}, formatBytes(piece.bytes)), several, " ", element("bdi", { class: "line" }, lineName(frame))),
      element(
        "p",
        {},
        `${purpose}${formatCount(blocks.requestedBytes[block])} bytes requested · allocated at ${since}`,
        piece.waiting ? " · freed, waiting for a stream" : "",
      ),
      this.stackList(blocks.stack[block], framesMax),
      inSegment,
    ];
  }

  private describeSegment(view: SegmentView): string {
    const { stream, poolFirst, poolSecond, expandable } = this.history.device.segments;
    const { segment } = view;
    const isDefaultPool = poolFirst[segment] === 0 && poolSecond[segment] === 0;
    const pool = isDefaultPool ? "" : `, pool (${poolFirst[segment]}, ${poolSecond[segment]})`;
    const kind = expandable[segment] ? "expandable segment" : "segment";
    return `${kind} of ${formatBytes(view.bytes)} at 0x${view.address.toString(16)}, stream ${stream[segment]}${pool}`;
  }

  /** The frames of a stack, innermost first. */
  private stackList(stack: number, framesMax: number): HTMLElement {
    const { nodeParent, nodeFrame, frames, leaf, blameFrame } = this.stacks;
    const items: HTMLElement[] = [];
    let more = 0;
    for (let node = leaf[stack]; node !== 0; node = nodeParent[node]) {
      const frame = nodeFrame[node];
      if (items.length >= framesMax) {
        more += 1;
        continue;
      }
      const { name, file, line } = frames[frame];
      const own = frame === blameFrame[stack] ? "own" : "";
      items.push(element("li", { class: own }, element("bdi", {}, name), " ", element("bdi", { class: "faint" }, `${file}:${line}`)));
    }
    if (more > 0) items.push(element("li", { class: "faint" }, `and ${more} more: click the block`));
    if (items.length === 0) items.push(element("li", { class: "faint" }, "no stack was recorded"));
    return element("ol", { class: "stack" }, ...items);
  }

  private showDetails(cell: Cell): void {
    fill(this.details, ...this.describe(cell, Infinity));
  }

  private drawCaption(): void {
    const { map } = this;
    const failure = this.history.device.failures.find(({ event }) => event === this.event);
    const whole = element("button", { type: "button" }, "all segments");
    whole.addEventListener("click", () => this.focus(undefined));
    fill(
      this.caption,
      element("b", {}, `${formatBytes(map.reservedBytes)} reserved`),
      ` in ${formatMany(map.segments.length, "segment")}: ${formatBytes(map.allocatedBytes)} allocated`,
      map.waitingBytes > 0 ? `, ${formatBytes(map.waitingBytes)} waiting for a stream` : "",
      `, ${formatBytes(map.freeBytes)} `,
      element("i", { class: "swatch free" }),
      ` free, the largest free piece ${formatBytes(map.largestFreeBytes)}. `,
      failure ? element("b", { class: "alarm" }, `A request for ${formatBytes(failure.requestedBytes)} failed here. `) : null,
      this.focused ? element("span", {}, `Showing the ${this.describeSegment(this.focused)} `, whole) : null,
    );
    this.root.dataset["event"] = String(this.event);
  }
}
