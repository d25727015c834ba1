/**
 * Reads what `crates/oomph-explain/src/html/` wrote: the facts as JSON, the events as gzipped columns of varints.
 *
 * Moments: 0 is before the first event and `i + 1` is after event `i`; `NEVER` is after all of them.
 */

/** What happened at an event, by its code. Same order as `action_code` in payload.rs. */
export const ACTIONS = [
  "alloc",
  "free requested",
  "free completed",
  "segment alloc",
  "segment free",
  "segment map",
  "segment unmap",
  "snapshot",
  "out of memory",
  "other",
] as const;
const OOM_CODE = 8;

/** What bytes are for, by code. Same order as `category_code` in payload.rs. */
export const CATEGORIES = [
  "parameters",
  "optimizer state",
  "gradients",
  "input",
  "workspace",
  "activations",
  "other",
  "unknown",
] as const;
export const CATEGORY_UNKNOWN = 7;

/** The moment of what does not happen. */
export const NEVER = 0xffffffff;

export interface Verdict {
  class: string;
  summary: string;
  file: string | null;
  line: number | null;
  bytes: number | null;
  proof: string;
  advice: string[];
}

export interface StepMark {
  name: string;
  event: number;
}

/** A stretch of a step: events from `start`, up to but without `end`. */
export interface PhaseMark {
  name: string;
  start: number;
  end: number;
}

export interface LineRow {
  file: string;
  line: number;
  function: string;
  bytes: number;
  blocks: number;
}

export interface ModuleRow {
  /** `*` stands for the number in which several modules differ. */
  path: string;
  count: number;
  bytes: number;
}

export interface LeakRow {
  file: string;
  line: number;
  bytes: number;
  bytes_per_step: number | null;
  blocks: number;
}

export interface DeviceFacts {
  ordinal: number;
  peak_event: number;
  peak_allocated_bytes: number;
  peak_reserved_bytes: number;
  limit_bytes: number | null;
  total_bytes: number | null;
  steps: StepMark[];
  phases: PhaseMark[];
  /** The event after which `lines` and `fragmentation` were measured. */
  measured_at: number;
  lines: LineRow[];
  modules: ModuleRow[];
  leaks: LeakRow[];
  fragmentation: BytesOf[];
}

/** A few lines of a file around the one it was taken for. */
export interface Snippet {
  file: string;
  line: number;
  first_line: number;
  lines: string[];
}

export interface CardRow {
  name: string;
  capacity_bytes: number;
  fit: "fits" | "does not fit" | "close";
  /** Whether the job was run on this card; otherwise its requests were replayed. */
  planned: boolean;
}

/** The answer of a plan. Same fields as `PlanPage` in plan.rs, which says what they mean. */
export interface Plan {
  /** What a search came to; everything else is about the job as it is. */
  fitted: Fitted | null;
  sentence: string;
  fits: boolean;
  card_title: string;
  capacity_bytes: number;
  roomy_bytes: number | null;
  least_bytes: number | null;
  seen: string;
  growth: string | null;
  cards: CardRow[];
  peak_moment: string;
  categories: BytesOf[];
  modules: ModuleRow[];
  unknown: string[];
  advice: string[];
  command_line: string;
  environment: string;
}

/** What was found that makes a job fit. Same fields as `FittedPage` in plan.rs. */
export interface Fitted {
  sentence: string;
  fits: boolean;
  tried: TriedRow[];
}

export interface TriedRow {
  remedies: string;
  peak_bytes: number | null;
  slowdown: number;
  fits: boolean;
}

export interface BytesOf {
  what: string;
  bytes: number;
}

/** What the page knows before the events are unpacked. */
export interface Facts {
  source_name: string;
  /** Whether times mean anything: those of a plan do not. */
  has_clock: boolean;
  /** Missing on a page that explains a job which was recorded. */
  plan: Plan | null;
  verdict: Verdict;
  snippets: Snippet[];
  devices: DeviceFacts[];
}

export interface Frame {
  name: string;
  file: string;
  line: number;
}

/** Stacks as a tree: node 0 is the root, parents come before children. */
export interface Stacks {
  frames: Frame[];
  nodeParent: Uint32Array;
  /** Frame of each node; meaningless for the root. */
  nodeFrame: Uint32Array;
  /** Node where each stack ends. */
  leaf: Uint32Array;
  /** Frame to name for each stack, or -1. */
  blameFrame: Int32Array;
}

/** A request that failed. */
export interface Failure {
  event: number;
  requestedBytes: number;
  deviceFreeBytes: number;
}

/** One row a block, in order of `start`. */
export interface Blocks {
  count: number;
  start: Uint32Array;
  givenBack: Uint32Array;
  end: Uint32Array;
  address: Float64Array;
  requestedBytes: Float64Array;
  heldBytes: Float64Array;
  category: Uint8Array;
  stack: Uint32Array;
  /** 1 for the blocks the verdict accuses. */
  accused: Uint8Array;
}

/** One row a stretch of reserved memory, in order of `start`. */
export interface Segments {
  count: number;
  start: Uint32Array;
  end: Uint32Array;
  address: Float64Array;
  bytes: Float64Array;
  stream: Float64Array;
  poolFirst: Float64Array;
  poolSecond: Float64Array;
  expandable: Uint8Array;
  stack: Uint32Array;
}

export interface Device {
  eventCount: number;
  action: Uint8Array;
  /** Microseconds since the first event, never falling. */
  elapsedUs: Float64Array;
  failures: Failure[];
  blocks: Blocks;
  segments: Segments;
}

export interface Payload {
  stacks: Stacks;
  devices: Device[];
}

/** A column of the payload. */
type Numbers = Uint8Array | Uint32Array | Int32Array | Float64Array;

/** Reads the stream that `ColumnWriter` in columns.rs writes. */
export class ColumnReader {
  private at = 0;
  private readonly utf8 = new TextDecoder();

  constructor(private readonly bytes: Uint8Array) {}

  /** Whether everything has been read. */
  get atEnd(): boolean {
    return this.at === this.bytes.length;
  }

  number(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      if (this.at >= this.bytes.length) throw new Error("the page's data ends too early: the file is damaged");
      const byte = this.bytes[this.at++];
      // Beyond 32 bits shifts would wrap; multiplying is exact up to 2^53.
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  signed(): number {
    const zigzag = this.number();
    return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
  }

  column<T extends Numbers>(column: T): T {
    for (let row = 0; row < column.length; row++) column[row] = this.number();
    return column;
  }

  deltas<T extends Numbers>(column: T): T {
    let value = 0;
    for (let row = 0; row < column.length; row++) {
      value += this.signed();
      column[row] = value;
    }
    return column;
  }

  text(): string {
    const length = this.number();
    if (length > this.bytes.length - this.at) throw new Error("the page's data ends too early: the file is damaged");
    this.at += length;
    return this.utf8.decode(this.bytes.subarray(this.at - length, this.at));
  }
}

/** Unpacks the base64 text of the payload element. */
export async function unpack(base64: string): Promise<Uint8Array> {
  const binary = atob(base64.trim());
  const packed = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads the unpacked columns. */
export function decodePayload(bytes: Uint8Array): Payload {
  const reader = new ColumnReader(bytes);
  const stacks = readStacks(reader);
  const devices = Array.from({ length: reader.number() }, () => readDevice(reader));
  if (!reader.atEnd) throw new Error("the page's data goes on beyond its end: the file is damaged");
  return { stacks, devices };
}

function readStacks(reader: ColumnReader): Stacks {
  const strings = Array.from({ length: reader.number() }, () => reader.text());
  const frameCount = reader.number();
  const names = reader.column(new Uint32Array(frameCount));
  const files = reader.column(new Uint32Array(frameCount));
  const lines = reader.column(new Uint32Array(frameCount));
  const frames = Array.from(names, (name, i) => ({ name: strings[name], file: strings[files[i]], line: lines[i] }));
  const nodeCount = reader.number() + 1;
  const nodeParent = new Uint32Array(nodeCount);
  const nodeFrame = new Uint32Array(nodeCount);
  reader.deltas(nodeParent.subarray(1));
  reader.deltas(nodeFrame.subarray(1));
  const stackCount = reader.number();
  const leaf = reader.column(new Uint32Array(stackCount));
  const blameFrame = reader.column(new Int32Array(stackCount)).map((blame) => blame - 1);
  return { frames, nodeParent, nodeFrame, leaf, blameFrame };
}

function readDevice(reader: ColumnReader): Device {
  const eventCount = reader.number();
  const action = reader.column(new Uint8Array(eventCount));
  reader.number(); // When the first event happened; the page shows elapsed time only.
  const elapsedUs = reader.deltas(new Float64Array(eventCount));
  // Threads may record a little out of order; a time axis must not run backwards.
  for (let i = 1; i < eventCount; i++) elapsedUs[i] = Math.max(elapsedUs[i], elapsedUs[i - 1]);
  const failures: Failure[] = [];
  action.forEach((code, event) => {
    if (code === OOM_CODE) failures.push({ event, requestedBytes: 0, deviceFreeBytes: 0 });
  });
  for (const failure of failures) failure.requestedBytes = reader.number();
  for (const failure of failures) failure.deviceFreeBytes = reader.number();
  const unitBytes = reader.number();
  return {
    eventCount,
    action,
    elapsedUs,
    failures,
    blocks: readBlocks(reader, unitBytes),
    segments: readSegments(reader, unitBytes),
  };
}

function readBlocks(reader: ColumnReader, unitBytes: number): Blocks {
  const count = reader.number();
  const start = reader.deltas(new Uint32Array(count));
  const givenBack = momentsFrom(start, reader.column(new Uint32Array(count)));
  const lastKnown = givenBack.map((moment, block) => (moment === NEVER ? start[block] : moment));
  const end = momentsFrom(lastKnown, reader.column(new Uint32Array(count)));
  const address = reader.deltas(new Float64Array(count)).map((units) => units * unitBytes);
  const requestedBytes = reader.column(new Float64Array(count));
  const heldBytes = reader.column(new Float64Array(count)).map((extra, block) => extra + requestedBytes[block]);
  const category = reader.column(new Uint8Array(count));
  const stack = reader.column(new Uint32Array(count));
  const accused = reader.column(new Uint8Array(count));
  return { count, start, givenBack, end, address, requestedBytes, heldBytes, category, stack, accused };
}

function readSegments(reader: ColumnReader, unitBytes: number): Segments {
  const count = reader.number();
  const start = reader.deltas(new Uint32Array(count));
  const end = momentsFrom(start, reader.column(new Uint32Array(count)));
  const address = reader.deltas(new Float64Array(count)).map((units) => units * unitBytes);
  const floats = () => reader.column(new Float64Array(count));
  const bytes = floats();
  const stream = floats();
  const poolFirst = floats();
  const poolSecond = floats();
  const expandable = reader.column(new Uint8Array(count));
  const stack = reader.column(new Uint32Array(count));
  return { count, start, end, address, bytes, stream, poolFirst, poolSecond, expandable, stack };
}

/** Undoes `distance` in payload.rs: 0 is never, else 1 + the distance from a base. */
function momentsFrom(base: Uint32Array, offsets: Uint32Array): Uint32Array {
  return offsets.map((offset, row) => (offset === 0 ? NEVER : base[row] + offset - 1));
}
