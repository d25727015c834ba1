/**
 * Which colour a block has, on the timeline and in the segment map alike: that of its category, of its line, or of
 * what the verdict says about it.
 */

import { CATEGORIES, CATEGORY_UNKNOWN, Device, Frame, Stacks, Verdict } from "./data";
import { baseName } from "./format";
import { GroupOfBlock, History } from "./history";
import { CATEGORY_COLOURS, GUILTY_COLOUR, LINE_COLOURS, OTHER_LINES_COLOUR, WAITING_COLOUR } from "./theme";

export type GroupKind = "category" | "line" | "verdict";

export interface Group {
  name: string;
  colour: string;
}

export interface Grouping extends GroupOfBlock {
  groups: Group[];
}

const WAITING: Group = { name: "freed, waiting for a stream", colour: WAITING_COLOUR };

/** Whether a frame is the line that the verdict blames. A verdict may name the file without its folders. */
export function isGuilty(frame: Frame | undefined, verdict: Verdict): boolean {
  if (!frame || verdict.file === null || frame.line !== verdict.line) return false;
  return frame.file === verdict.file || frame.file.endsWith(`/${verdict.file}`) || verdict.file.endsWith(`/${frame.file}`);
}

/** Whether anyone said what the blocks are for. */
export function hasCategories(device: Device): boolean {
  return device.blocks.category.some((category) => category !== CATEGORY_UNKNOWN);
}

export function groupByCategory(device: Device): Grouping {
  const groups = CATEGORIES.map((name, code) => ({ name, colour: CATEGORY_COLOURS[code] }));
  return withWaiting(groups, device.blocks.category);
}

/** Whether the verdict accuses any block. */
export function hasAccused(device: Device): boolean {
  return device.blocks.accused.includes(1);
}

/** Accused blocks lie lowest, so that their growth is seen against a straight line. */
export function groupByVerdict(device: Device): Grouping {
  const groups = [
    { name: "blamed by the verdict", colour: GUILTY_COLOUR },
    { name: "everything else", colour: OTHER_LINES_COLOUR },
  ];
  return withWaiting(groups, device.blocks.accused.map((accused) => 1 - accused));
}

/** Groups by the line named for each block's stack: the guilty one, the largest at the peak, and the rest together. */
export function groupByLine(history: History, stacks: Stacks, verdict: Verdict, peakEvent: number): Grouping {
  const { blocks } = history.device;
  const lineOfStack = namedLines(stacks);
  const peakBytes = new Map<number, number>();
  for (const block of history.liveBlocks(peakEvent)) {
    const line = lineOfStack[blocks.stack[block]];
    peakBytes.set(line, (peakBytes.get(line) ?? 0) + blocks.heldBytes[block]);
  }
  const guilty = lineOfStack.find((line) => isGuilty(stacks.frames[line], verdict));
  const largest = [...peakBytes.keys()]
    .filter((line) => line !== guilty)
    .sort((a, b) => peakBytes.get(b)! - peakBytes.get(a)!)
    .slice(0, LINE_COLOURS.length);

  const groups: Group[] = [];
  const groupOfLine = new Map<number, number>();
  const addGroup = (line: number, colour: string) => {
    groupOfLine.set(line, groups.length);
    groups.push({ name: lineName(stacks.frames[line]), colour });
  };
  if (guilty !== undefined) addGroup(guilty, GUILTY_COLOUR);
  largest.forEach((line, rank) => addGroup(line, LINE_COLOURS[rank]));
  const rest = groups.length;
  groups.push({ name: "all other lines", colour: OTHER_LINES_COLOUR });
  const groupOfStack = lineOfStack.map((line) => groupOfLine.get(line) ?? rest);
  return withWaiting(groups, Uint8Array.from(blocks.stack, (stack) => groupOfStack[stack]));
}

/** `train.py:19 main`, or what to say when there is no frame. */
export function lineName(frame: Frame | undefined): string {
  if (!frame) return "no Python frame";
  return frame.line > 0 ? `${baseName(frame.file)}:${frame.line} ${frame.name}` : frame.name;
}

/** For each stack the first frame with the same file and line as the one named for it, or -1. */
function namedLines(stacks: Stacks): number[] {
  const firstFrame = new Map<string, number>();
  return Array.from(stacks.blameFrame, (frame) => {
    if (frame < 0) return -1;
    const { file, line } = stacks.frames[frame];
    const key = `${line}:${file}`;
    if (!firstFrame.has(key)) firstFrame.set(key, frame);
    return firstFrame.get(key)!;
  });
}

function withWaiting(groups: Group[], group: Uint8Array): Grouping {
  return { groups: [...groups, WAITING], count: groups.length + 1, group, waitingGroup: groups.length };
}
