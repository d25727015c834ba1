/** The flame graph of one moment: bytes by stack, the outermost call on top, drawn by ECharts. */

import { Stacks, Verdict } from "./data";
import { ChartOption, ECharts, makeChart, RenderItem, tooltip } from "./charts";
import { element } from "./dom";
import { baseName, cleanText, formatBytes, formatShare } from "./format";
import { bytesOfNodes, FlameBox, layOutFlame } from "./flame_layout";
import { isGuilty } from "./grouping";
import { History } from "./history";
import { FONT_FAMILY, GUILTY_COLOUR, theme } from "./theme";

const ROW_HEIGHT_PX = 20;
/** Narrower boxes are left out; their parents show that something is there. */
const BOX_WIDTH_MIN_PX = 0.7;
const LABEL_WIDTH_MIN_PX = 28;

export class FlameGraph {
  readonly root = element("div", { class: "flame" });
  boxes: FlameBox[] = [];
  private bytes: Float64Array = new Float64Array(1);
  private rootNode = 0;
  private readonly ownFrames: Set<number>;
  private readonly chart: ECharts;
  private readonly host = element("div", { class: "chart" });

  constructor(
    private readonly history: History,
    private readonly stacks: Stacks,
    private readonly verdict: Verdict,
  ) {
    this.ownFrames = new Set(stacks.blameFrame);
    this.root.append(this.host);
    this.host.style.height = `${ROW_HEIGHT_PX * 4}px`;
    this.chart = makeChart(this.host, () => this.draw());
    this.chart.on("click", ({ dataIndex }) => this.zoomTo(this.boxes[dataIndex].node));
  }

  /** Shows what was held after an event. */
  show(event: number): void {
    this.bytes = bytesOfNodes(this.history, this.stacks, event);
    this.rootNode = 0;
    this.draw();
  }

  dispose(): void {
    this.chart.dispose();
  }

  private zoomTo(node: number): void {
    this.rootNode = node;
    this.draw();
  }

  draw(): void {
    const total = Math.max(this.bytes[this.rootNode], 1);
    const widthPx = Math.max(this.host.clientWidth, 100);
    this.boxes = layOutFlame(this.stacks, this.bytes, this.rootNode, (total * BOX_WIDTH_MIN_PX) / widthPx);
    const rows = this.boxes.reduce((max, box) => Math.max(max, box.depth + 1), 1);
    this.host.style.height = `${rows * ROW_HEIGHT_PX + 2}px`;
    this.chart.resize();
    this.chart.setOption(this.option(total, rows), { replaceMerge: ["series"] });
  }

  private option(total: number, rows: number): ChartOption {
    return {
      animation: false,
      grid: { left: 0, right: 0, top: 1, bottom: 1, outerBoundsMode: "none" },
      xAxis: { type: "value", min: 0, max: total, show: false },
      yAxis: { type: "value", min: 0, max: rows, inverse: true, show: false },
      tooltip: tooltip((at) => this.describeTip(at)),
      series: [
        {
          type: "custom",
          renderItem: this.renderBox,
          encode: { x: 0, y: 1 },
          data: this.boxes.map((box) => [box.from, box.depth]),
          progressive: 0,
        },
      ],
    };
  }

  private readonly renderBox: RenderItem = (params, api) => {
    const box = this.boxes[params.dataIndex];
    const [left, top] = api.coord([box.from, box.depth]);
    const [right] = api.coord([box.from + box.bytes, box.depth]);
    const width = Math.max(right - left - 1, 0.5);
    const colours = theme();
    const { fill, text } = this.colours(box);
    return {
      type: "rect",
      shape: { x: left, y: top, width, height: ROW_HEIGHT_PX - 1 },
      style: { fill },
      emphasis: { style: { stroke: colours.text, lineWidth: 1.5 } },
      textConfig: { position: "insideLeft", distance: 5, inside: true },
      textContent: {
        type: "text",
        ignore: width < LABEL_WIDTH_MIN_PX,
        style: {
          text: cleanText(this.label(box)),
          fill: text,
          fontFamily: FONT_FAMILY,
          fontSize: 11.5,
          width: width - 10,
          verticalAlign: "middle",
          overflow: "truncate",
          ellipsis: "…",
        },
      },
    };
  };

  private colours({ node, frame }: FlameBox): { fill: string; text: string } {
    const colours = theme();
    if (isGuilty(frame, this.verdict)) return { fill: GUILTY_COLOUR, text: "#fff" };
    const own = node !== 0 && this.ownFrames.has(this.stacks.nodeFrame[node]);
    return { fill: own ? colours.ownFrame : colours.libraryFrame, text: colours.text };
  }

  private label({ frame, bytes, depth }: FlameBox): string {
    if (!frame) return depth === 0 ? `allocated: ${formatBytes(bytes)}` : "no Python frame";
    return frame.line > 0 ? `${frame.name}  ${baseName(frame.file)}:${frame.line}` : frame.name;
  }

  private describeTip(dataIndex: number): HTMLElement {
    const box = this.boxes[dataIndex];
    const isStackless = box.node === 0 && box.depth > 0;
    const bytes = isStackless ? box.bytes : this.bytes[box.node];
    return element(
      "div",
      { class: "tooltip" },
      element("p", {}, element("b", {}, formatBytes(bytes)), ` · ${formatShare(bytes, this.bytes[0])} of all that was allocated`),
      isStackless ? element("p", {}, "no Python frame was recorded: autograd's own threads, or C++") : null,
      box.frame ? element("p", {}, element("bdi", { class: "line" }, box.frame.name)) : null,
      box.frame ? element("p", { class: "faint" }, element("bdi", {}, `${box.frame.file}:${box.frame.line}`)) : null,
    );
  }
}
