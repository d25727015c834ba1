/** Picks the events that stand for a long history on a narrow screen. */

import { Pyramid } from "./pyramid";

/** How the timeline's x axis counts. */
export type AxisKind = "event" | "time";

/** A position on the x axis for every event, never falling. */
export interface Axis {
  kind: AxisKind;
  /** Position of an event: its number, or the seconds since the first. */
  position(event: number): number;
  /** The first event at or after a position; may be one past the last. */
  eventAt(position: number): number;
  /** Position of the last event. */
  end: number;
}

export function makeAxis(kind: AxisKind, elapsedUs: Float64Array): Axis {
  const last = Math.max(elapsedUs.length - 1, 0);
  if (kind === "event") {
    const eventAt = (position: number) => Math.min(Math.max(Math.ceil(position), 0), last + 1);
    return { kind, position: (event) => event, eventAt, end: Math.max(last, 1) };
  }
  const eventAt = (position: number) => lowerBound(elapsedUs, position * 1e6);
  return { kind, position: (event) => elapsedUs[event] / 1e6, eventAt, end: Math.max((elapsedUs[last] ?? 0) / 1e6, 1e-6) };
}

/** What to draw: where each stretch begins, ascending, and the event that stands for it. */
export interface Sample {
  begins: number[];
  shown: number[];
}

/**
 * Samples the events between two positions: all of them if they fit, else the highest of each of about `columns`
 * equal stretches, so that no peak is lost. Stretches begin at multiples of their own length: while the reader pans,
 * the same event stands for the same stretch and the picture does not flicker.
 */
export function sampleEvents(axis: Axis, pyramid: Pyramid, count: number, from: number, to: number, columns: number): Sample {
  // One event more on either side, so that the curves reach the edges.
  const first = Math.max(axis.eventAt(from) - 1, 0);
  const end = Math.min(axis.eventAt(to) + 1, count);
  if (end - first <= columns) {
    const all = Array.from({ length: Math.max(end - first, 0) }, (_, i) => first + i);
    return { begins: all, shown: all };
  }
  const stretch = 2 ** Math.ceil(Math.log2((to - from) / columns));
  const sample: Sample = { begins: [], shown: [] };
  let begin = first;
  for (let edge = Math.floor(from / stretch) + 1; begin < end; edge++) {
    const next = edge * stretch > to ? end : Math.min(axis.eventAt(edge * stretch), end);
    if (next <= begin) continue;
    sample.begins.push(begin);
    sample.shown.push(pyramid.highest(begin, next));
    begin = next;
  }
  return sample;
}

function lowerBound(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
