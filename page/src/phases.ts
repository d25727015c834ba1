/** Phases of steps (backward, optimizer, validation) as bands above the timeline. */

import uPlot from "uplot";

import { PhaseMark } from "./data";
import { element } from "./dom";
import { cleanText } from "./format";
import { LINE_COLOURS } from "./theme";

/** Narrower bands could not be told apart. */
const BAND_WIDTH_MIN_PX = 2;
const LETTER_WIDTH_PX = 7;

export class PhaseStrip {
  readonly root = element("div", { class: "phases" });
  /** Every name has a colour, in order of appearance. */
  private readonly names: string[];

  constructor(private readonly phases: PhaseMark[]) {
    this.names = [...new Set(phases.map(({ name }) => name))];
  }

  get isEmpty(): boolean {
    return this.phases.length === 0;
  }

  /** Places the bands that can be seen; `leftOf` says where an event lies. */
  draw(plot: uPlot, leftOf: (event: number) => number): void {
    const widthPx = plot.over.clientWidth;
    const bands: HTMLElement[] = [];
    for (const { name, start, end } of this.phases) {
      const left = Math.max(leftOf(start), 0);
      const width = Math.min(leftOf(end), widthPx) - left;
      if (width < BAND_WIDTH_MIN_PX) continue;
      const text = cleanText(name);
      const fits = text.length * LETTER_WIDTH_PX <= width;
      const band = element("span", { title: text }, fits ? text : "");
      band.style.setProperty("--colour", LINE_COLOURS[this.names.indexOf(name) % LINE_COLOURS.length]);
      band.style.left = `${left}px`;
      band.style.width = `${width}px`;
      bands.push(band);
    }
    this.root.replaceChildren(...bands);
  }
}
