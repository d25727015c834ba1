/**
 * Lays the reserved memory of one moment out as text is laid out: segment after segment in rows of equal length, so
 * that every byte has the same area and free space is seen at its true size.
 */

import { History } from "./history";

/** A stretch of one segment: a block, the free space between blocks, or several too narrow to be seen alone. */
export interface Piece {
  address: number;
  bytes: number;
  /** The block, or the largest of several; -1 when free. */
  block: number;
  /** How many blocks are drawn as one. */
  blockCount: number;
  waiting: boolean;
}

/** Adjoining reserved memory of one stream and pool. */
export interface SegmentView {
  address: number;
  bytes: number;
  /** Row of the segments table. */
  segment: number;
  pieces: Piece[];
}

/** The segments and blocks of one moment. */
export interface MemoryMap {
  segments: SegmentView[];
  reservedBytes: number;
  /** Bytes clients hold. */
  allocatedBytes: number;
  /** Bytes given back that wait for a stream. */
  waitingBytes: number;
  freeBytes: number;
  largestFreeBytes: number;
}

/** A piece, or a part of one, on one row. */
export interface Cell {
  row: number;
  from: number;
  to: number;
  segment: SegmentView;
  piece: Piece;
  /** Whether the segment ends here. */
  isLast: boolean;
}

/** The map after an event. */
export function memoryMapAt(history: History, event: number): MemoryMap {
  const { blocks } = history.device;
  const segments = joinedSegments(history, event);
  const live = history.liveBlocks(event).sort((a, b) => blocks.address[a] - blocks.address[b]);
  const map: MemoryMap = { segments, reservedBytes: 0, allocatedBytes: 0, waitingBytes: 0, freeBytes: 0, largestFreeBytes: 0 };
  let next = 0;
  for (const segment of segments) {
    const end = segment.address + segment.bytes;
    let reached = segment.address;
    const addFree = (to: number) => {
      if (to <= reached) return;
      segment.pieces.push({ address: reached, bytes: to - reached, block: -1, blockCount: 0, waiting: false });
      map.freeBytes += to - reached;
      map.largestFreeBytes = Math.max(map.largestFreeBytes, to - reached);
    };
    for (; next < live.length && blocks.address[live[next]] < end; next++) {
      const block = live[next];
      const address = blocks.address[block];
      // Outside every segment, or over another block: the history contradicts itself here.
      if (address < reached) continue;
      addFree(address);
      const bytes = Math.min(blocks.heldBytes[block], end - address);
      const waiting = history.isWaiting(block, event);
      segment.pieces.push({ address, bytes, block, blockCount: 1, waiting });
      if (waiting) map.waitingBytes += bytes;
      else map.allocatedBytes += bytes;
      reached = address + bytes;
    }
    addFree(end);
    map.reservedBytes += segment.bytes;
  }
  return map;
}

/** Reserved memory with the pieces of each expandable segment joined. */
function joinedSegments(history: History, event: number): SegmentView[] {
  const table = history.device.segments;
  const joined: SegmentView[] = [];
  for (const segment of history.liveSegments(event)) {
    const before = joined[joined.length - 1];
    const adjoins =
      before !== undefined &&
      before.address + before.bytes === table.address[segment] &&
      table.expandable[before.segment] === 1 &&
      table.expandable[segment] === 1 &&
      table.stream[before.segment] === table.stream[segment];
    if (adjoins) before.bytes += table.bytes[segment];
    else joined.push({ address: table.address[segment], bytes: table.bytes[segment], segment, pieces: [] });
  }
  return joined;
}

/** Breaks segments into rows of `rowBytes`, a whole number; pieces below `bytesMin` are drawn together with their neighbours. */
export function layOut(segments: SegmentView[], rowBytes: number, bytesMin: number): Cell[] {
  const cells: Cell[] = [];
  let offset = 0;
  for (const segment of segments) {
    const pieces = withoutSlivers(segment.pieces, bytesMin);
    pieces.forEach((piece, i) => {
      let left = piece.bytes;
      while (left > 0) {
        const row = Math.floor(offset / rowBytes);
        const from = offset - row * rowBytes;
        const taken = Math.min(left, rowBytes - from);
        left -= taken;
        offset += taken;
        cells.push({ row, from, to: from + taken, segment, piece, isLast: left <= 0 && i === pieces.length - 1 });
      }
    });
  }
  return cells;
}

/** Joins runs of narrow pieces; the largest of a run gives it its colour. */
function withoutSlivers(pieces: Piece[], bytesMin: number): Piece[] {
  const joined: Piece[] = [];
  let run: Piece | undefined;
  let largestBytes = 0;
  for (const piece of pieces) {
    if (piece.bytes >= bytesMin) {
      joined.push(piece);
      run = undefined;
    } else if (!run || run.bytes >= bytesMin) {
      run = { ...piece };
      largestBytes = piece.bytes;
      joined.push(run);
    } else {
      if (piece.bytes > largestBytes) {
        largestBytes = piece.bytes;
        run.block = piece.block;
        run.waiting = piece.waiting;
      }
      run.bytes += piece.bytes;
      run.blockCount += piece.blockCount;
    }
  }
  return joined;
}
