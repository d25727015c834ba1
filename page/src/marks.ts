/** Steps, the peak and failures as lines over the timeline: elements on top of the chart, with names that have room. */

import uPlot from "uplot";

import { DeviceFacts } from "./data";
import { element } from "./dom";
import { cleanText, formatBytes } from "./format";
import { History } from "./history";

/** Longer names of steps are cut; the style sheet sets the same width. */
const STEP_LABEL_WIDTH_MAX_PX = 170;
const LETTER_WIDTH_PX = 7;
const LINE_SPACING_PX = 24;
const LABEL_GAP_PX = 4;

interface Mark {
  event: number;
  label: string;
  class: "step" | "oom" | "peak";
}

/** A mark and where it lies. */
interface PlacedMark {
  mark: Mark;
  left: number;
}

/** Everything worth marking about a device. */
export function marksOf(history: History, facts: DeviceFacts, peakEvent: number): Mark[] {
  return [
    ...facts.steps.map((step) => ({ event: step.event, label: step.name, class: "step" as const })),
    { event: peakEvent, label: "peak", class: "peak" as const },
    ...history.device.failures.map((failure) => ({
      event: failure.event,
      label: `out of memory: ${formatBytes(failure.requestedBytes)} requested`,
      class: "oom" as const,
    })),
  ];
}

export class MarkLayer {
  readonly root = element("div", { class: "marks" });

  /** `marginPx` is the room beside the plot that names of steps may use. */
  constructor(
    private readonly marks: Mark[],
    private readonly marginPx: number,
  ) {}

  /** Places the marks that can be seen; `leftOf` says where an event lies. */
  draw(plot: uPlot, leftOf: (event: number) => number): void {
    const widthPx = plot.over.clientWidth;
    const placed = this.marks
      .map((mark) => ({ mark, left: leftOf(mark.event) }))
      .filter(({ left }) => left >= 0 && left <= widthPx);
    const steps = placed.filter(({ mark }) => mark.class === "step");
    const moments = placed.filter(({ mark }) => mark.class !== "step");
    // Failures often follow one another closely; the last is the one that counts.
    const lastFailure = moments.filter(({ mark }) => mark.class === "oom").at(-1);
    const isLabelled = (at: PlacedMark) => at.mark.class === "peak" || at === lastFailure;
    const lines = moments.map((at) => momentLine(at, widthPx, isLabelled(at)));
    this.root.replaceChildren(...this.stepLines(steps, widthPx), ...lines);
  }

  /** Steps that are far enough apart, with the names that have room. */
  private stepLines(steps: PlacedMark[], widthPx: number): HTMLElement[] {
    const shown: HTMLElement[] = [];
    let lineEnd = -Infinity;
    let labelEnd = -Infinity;
    for (const { mark, left } of steps) {
      if (left < lineEnd) continue;
      lineEnd = left + LINE_SPACING_PX;
      const text = cleanText(mark.label);
      const textEnd = left + Math.min(text.length * LETTER_WIDTH_PX, STEP_LABEL_WIDTH_MAX_PX);
      const hasRoom = left >= labelEnd && textEnd <= widthPx + this.marginPx;
      if (hasRoom) labelEnd = textEnd + LETTER_WIDTH_PX;
      shown.push(markLine(mark, left, hasRoom ? text : ""));
    }
    return shown;
  }
}

/** The peak or a failure; its name stands on the side with more room, and stays inside the plot. */
function momentLine({ mark, left }: PlacedMark, widthPx: number, isLabelled: boolean): HTMLElement {
  const text = isLabelled ? cleanText(mark.label) : "";
  const line = markLine(mark, left, text);
  const label = line.firstElementChild as HTMLElement;
  const textPx = text.length * LETTER_WIDTH_PX + LABEL_GAP_PX;
  const isRight = left > widthPx / 2;
  const roomPx = isRight ? left : widthPx - left;
  if (isRight) label.style.right = `${LABEL_GAP_PX - Math.max(textPx - roomPx, 0)}px`;
  else label.style.left = `${LABEL_GAP_PX - Math.max(textPx - roomPx, 0)}px`;
  return line;
}

function markLine({ class: kind }: Mark, left: number, text: string): HTMLElement {
  const line = element("div", { class: `mark ${kind}` }, element("span", {}, text));
  line.style.transform = `translateX(${left}px)`;
  return line;
}
