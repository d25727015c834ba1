/** One device's memory at any event: what lives, how much is held and reserved. */

import { Device, NEVER } from "./data";

/**
 * Events between two stored live sets. A moment is reached by replaying at most this many events from the set before
 * it, which takes well under a millisecond.
 */
const KEYFRAME_SPACING = 8192;

/** Rows of a table by the event at which something happens to them. */
class RowsByEvent {
  private readonly first: Uint32Array;
  private readonly rows: Uint32Array;

  /** Moments 1 to `eventCount` are events 0 to `eventCount - 1`; rows with other moments are left out. */
  constructor(eventCount: number, moments: Uint32Array) {
    this.first = new Uint32Array(eventCount + 1);
    const happens = (moment: number) => moment >= 1 && moment <= eventCount;
    for (const moment of moments) if (happens(moment)) this.first[moment] += 1;
    for (let event = 1; event <= eventCount; event++) this.first[event] += this.first[event - 1];
    this.rows = new Uint32Array(this.first[eventCount]);
    const next = this.first.slice();
    moments.forEach((moment, row) => {
      if (happens(moment)) this.rows[next[moment - 1]++] = row;
    });
  }

  /** Calls back for each row of an event; handing out arrays instead would make millions of them. */
  each(event: number, act: (row: number) => void): void {
    const end = this.first[event + 1];
    for (let at = this.first[event]; at < end; at++) act(this.rows[at]);
  }
}

/** A set of row numbers that can be changed and copied quickly. */
class RowSet {
  private readonly rows: Uint32Array;
  private readonly slot: Int32Array;
  private count = 0;

  constructor(rowCount: number) {
    this.rows = new Uint32Array(rowCount);
    this.slot = new Int32Array(rowCount).fill(-1);
  }

  add(row: number): void {
    if (this.slot[row] >= 0) return;
    this.slot[row] = this.count;
    this.rows[this.count++] = row;
  }

  remove(row: number): void {
    const slot = this.slot[row];
    if (slot < 0) return;
    const last = this.rows[--this.count];
    this.rows[slot] = last;
    this.slot[last] = slot;
    this.slot[row] = -1;
  }

  copy(): Uint32Array {
    return this.rows.slice(0, this.count);
  }
}

/** How blocks are told apart on the timeline: a number a block, and one for blocks waiting for a stream. */
export interface GroupOfBlock {
  count: number;
  group: Uint8Array;
  waitingGroup: number;
}

export class History {
  /** Reserved bytes after each event. */
  readonly reservedBytes: Float64Array;
  /** Held bytes after each event, waiting blocks included. */
  readonly heldBytes: Float64Array;
  private readonly started: RowsByEvent;
  private readonly givenBack: RowsByEvent;
  private readonly ended: RowsByEvent;
  private readonly keyframes: Uint32Array[] = [];

  constructor(readonly device: Device) {
    const { blocks, eventCount } = device;
    this.started = new RowsByEvent(eventCount, blocks.start);
    this.givenBack = new RowsByEvent(eventCount, blocks.givenBack);
    this.ended = new RowsByEvent(eventCount, blocks.end);
    this.reservedBytes = this.sumSegments();
    this.heldBytes = this.replayAll();
  }

  /** Blocks alive after an event, in no particular order. */
  liveBlocks(event: number): Uint32Array {
    const keyframe = Math.floor(event / KEYFRAME_SPACING);
    const live = new Set(this.keyframes[keyframe]);
    for (let at = keyframe * KEYFRAME_SPACING; at <= event; at++) {
      this.started.each(at, (block) => live.add(block));
      this.ended.each(at, (block) => live.delete(block));
    }
    return Uint32Array.from(live);
  }

  /** Segments reserved after an event, by address. */
  liveSegments(event: number): number[] {
    const { segments } = this.device;
    const live: number[] = [];
    for (let segment = 0; segment < segments.count; segment++) {
      if (segments.start[segment] <= event + 1 && segments.end[segment] > event + 1) live.push(segment);
    }
    return live.sort((a, b) => segments.address[a] - segments.address[b]);
  }

  /** Whether a block was given back by then, and only waits for a stream. */
  isWaiting(block: number, event: number): boolean {
    return this.device.blocks.givenBack[block] <= event + 1;
  }

  /** Bytes of each group after each event. */
  groupBytes({ count, group, waitingGroup }: GroupOfBlock): Float64Array[] {
    const { blocks, eventCount } = this.device;
    const bytes = Array.from({ length: count }, () => new Float64Array(eventCount));
    const now = new Float64Array(count);
    for (let block = 0; block < blocks.count && blocks.start[block] === 0; block++) {
      now[blocks.givenBack[block] === 0 ? waitingGroup : group[block]] += blocks.heldBytes[block];
    }
    // A completion that follows at once is the ordinary case: nothing waited.
    const waits = (block: number) => blocks.givenBack[block] !== NEVER && blocks.end[block] > blocks.givenBack[block] + 1;
    const begin = (block: number) => (now[group[block]] += blocks.heldBytes[block]);
    const wait = (block: number) => {
      if (!waits(block)) return;
      now[group[block]] -= blocks.heldBytes[block];
      now[waitingGroup] += blocks.heldBytes[block];
    };
    const finish = (block: number) => (now[waits(block) ? waitingGroup : group[block]] -= blocks.heldBytes[block]);
    for (let event = 0; event < eventCount; event++) {
      this.started.each(event, begin);
      this.givenBack.each(event, wait);
      this.ended.each(event, finish);
      for (let i = 0; i < count; i++) bytes[i][event] = now[i];
    }
    return bytes;
  }

  private sumSegments(): Float64Array {
    const { segments, eventCount } = this.device;
    const change = new Float64Array(eventCount + 2);
    for (let segment = 0; segment < segments.count; segment++) {
      change[segments.start[segment]] += segments.bytes[segment];
      if (segments.end[segment] <= eventCount) change[segments.end[segment]] -= segments.bytes[segment];
    }
    const reserved = new Float64Array(eventCount);
    let bytes = change[0];
    for (let event = 0; event < eventCount; event++) {
      bytes += change[event + 1];
      reserved[event] = bytes;
    }
    return reserved;
  }

  /** Replays the whole history once, keeping a live set every now and then. */
  private replayAll(): Float64Array {
    const { blocks, eventCount } = this.device;
    const held = new Float64Array(eventCount);
    const live = new RowSet(blocks.count);
    let bytes = 0;
    const begin = (block: number) => {
      live.add(block);
      bytes += blocks.heldBytes[block];
    };
    const finish = (block: number) => {
      live.remove(block);
      bytes -= blocks.heldBytes[block];
    };
    for (let block = 0; block < blocks.count && blocks.start[block] === 0; block++) begin(block);
    for (let event = 0; event < eventCount; event++) {
      if (event % KEYFRAME_SPACING === 0) this.keyframes.push(live.copy());
      this.started.each(event, begin);
      this.ended.each(event, finish);
      held[event] = bytes;
    }
    return held;
  }
}
