// Any moment of a history, against a slow model that knows nothing of keyframes or sampling.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { History } = await load("history.ts");
const { Pyramid } = await load("pyramid.ts");
const { makeAxis, sampleEvents } = await load("sampling.ts");
const { layOut, memoryMapAt } = await load("segment_layout.ts");
const { bytesOfNodes, layOutFlame } = await load("flame_layout.ts");

const NEVER = 0xffffffff;
const SLOT_BYTES = 4096;

/** Repeatable chance. */
function makeRandom(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

/** Random blocks in two segments; lives are chosen first and everything else is derived from them. */
function makeDevice(eventCount, seed) {
  const random = makeRandom(seed);
  const rows = [];
  for (let slot = 0; slot < 64; slot++) {
    for (let at = random(2) * random(50); at <= eventCount; ) {
      const start = at;
      const givenBack = random(8) === 0 ? NEVER : start + 1 + random(200);
      const end = givenBack === NEVER ? NEVER : givenBack + random(3);
      rows.push({ start, givenBack, end, address: slot * SLOT_BYTES, bytes: 512 * (1 + random(8)), category: random(8), stack: random(3) });
      if (end === NEVER) break;
      at = end + 1 + random(20);
    }
  }
  rows.sort((a, b) => a.start - b.start);
  const column = (Type, of) => Type.from(rows, of);
  return {
    eventCount,
    action: new Uint8Array(eventCount),
    elapsedUs: Float64Array.from({ length: eventCount }, (_, i) => i * i),
    failures: [],
    blocks: {
      count: rows.length,
      start: column(Uint32Array, (row) => row.start),
      givenBack: column(Uint32Array, (row) => row.givenBack),
      end: column(Uint32Array, (row) => row.end),
      address: column(Float64Array, (row) => row.address),
      requestedBytes: column(Float64Array, (row) => row.bytes),
      heldBytes: column(Float64Array, (row) => row.bytes),
      category: column(Uint8Array, (row) => row.category),
      stack: column(Uint32Array, (row) => row.stack),
      accused: new Uint8Array(rows.length),
    },
    segments: {
      count: 2,
      start: Uint32Array.of(0, 0),
      end: Uint32Array.of(NEVER, NEVER),
      address: Float64Array.of(0, 32 * SLOT_BYTES),
      bytes: Float64Array.of(32 * SLOT_BYTES, 32 * SLOT_BYTES),
      stream: Float64Array.of(0, 0),
      poolFirst: Float64Array.of(0, 0),
      poolSecond: Float64Array.of(0, 0),
      expandable: Uint8Array.of(0, 0),
      stack: Uint32Array.of(0, 0),
    },
  };
}

const device = makeDevice(20_000, 7);
const history = new History(device);
const { blocks } = device;

/** Blocks alive after an event, by looking at each of them. */
function aliveAt(event) {
  return [...blocks.start.keys()].filter((block) => blocks.start[block] <= event + 1 && blocks.end[block] > event + 1);
}

const MOMENTS = [0, 1, 17, 8191, 8192, 8193, 12_345, 19_999];

test("any moment can be reached", () => {
  for (const event of MOMENTS) {
    const alive = aliveAt(event);
    assert.ok(alive.length > 0);
    assert.deepEqual([...history.liveBlocks(event)].sort((a, b) => a - b), alive);
    assert.equal(history.heldBytes[event], alive.reduce((sum, block) => sum + blocks.heldBytes[block], 0));
    assert.equal(history.reservedBytes[event], 64 * SLOT_BYTES);
  }
});

test("groups add up to what is held", () => {
  const bytes = history.groupBytes({ count: 9, group: blocks.category, waitingGroup: 8 });
  for (const event of MOMENTS) {
    assert.equal(bytes.reduce((sum, group) => sum + group[event], 0), history.heldBytes[event]);
    const waits = (block) => blocks.givenBack[block] <= event + 1 && blocks.end[block] > blocks.givenBack[block] + 1;
    const waiting = aliveAt(event).filter(waits).reduce((sum, block) => sum + blocks.heldBytes[block], 0);
    assert.equal(bytes[8][event], waiting);
  }
});

test("the segment map accounts for every reserved byte", () => {
  for (const event of MOMENTS) {
    const map = memoryMapAt(history, event);
    assert.equal(map.allocatedBytes + map.waitingBytes, history.heldBytes[event]);
    assert.equal(map.allocatedBytes + map.waitingBytes + map.freeBytes, map.reservedBytes);
    for (const bytesMin of [0, 700, 5000]) {
      const cells = layOut(map.segments, 10_000, bytesMin);
      assert.equal(cells.reduce((sum, cell) => sum + cell.to - cell.from, 0), map.reservedBytes);
      assert.ok(cells.every((cell) => cell.to > cell.from && cell.to <= 10_000));
      assert.equal(cells.filter((cell) => cell.isLast).length, map.segments.length);
    }
  }
});

test("the flame graph accounts for every held byte", () => {
  // main calls a and b; a also holds bytes of its own.
  const stacks = {
    frames: [{ name: "main" }, { name: "a" }, { name: "b" }],
    nodeParent: Uint32Array.of(0, 0, 1, 1),
    nodeFrame: Uint32Array.of(0, 0, 1, 2),
    leaf: Uint32Array.of(2, 3, 1),
    blameFrame: Int32Array.of(1, 2, 0),
  };
  const bytes = bytesOfNodes(history, stacks, 5000);
  assert.equal(bytes[0], history.heldBytes[5000]);
  assert.equal(bytes[1], bytes[0]);
  assert.ok(bytes[1] > bytes[2] + bytes[3]);
  const boxes = layOutFlame(stacks, bytes, 0, 0);
  assert.deepEqual(boxes.map((box) => box.depth).sort(), [0, 1, 2, 2]);
  const stackless = { ...stacks, leaf: Uint32Array.of(2, 3, 0) };
  const gap = layOutFlame(stackless, bytesOfNodes(history, stackless, 5000), 0, 0).filter((box) => box.depth === 1);
  assert.equal(gap.reduce((sum, box) => sum + box.bytes, 0), history.heldBytes[5000], "no gap below the root");
  const zoomed = layOutFlame(stacks, bytes, 3, 0);
  assert.deepEqual(zoomed.map((box) => [box.node, box.depth, box.bytes]), [0, 1, 3].map((node, depth) => [node, depth, bytes[3]]));
});

test("the highest of any stretch is found", () => {
  const random = makeRandom(3);
  const pyramid = new Pyramid(history.heldBytes);
  for (let round = 0; round < 500; round++) {
    const from = random(19_999);
    const to = from + 1 + random(20_000 - from);
    const highest = history.heldBytes.subarray(from, to).reduce((max, bytes) => Math.max(max, bytes));
    assert.equal(pyramid.highest(from, to), history.heldBytes.indexOf(highest, from));
  }
});

test("a sample is short, in order, and keeps the peak of what it covers", () => {
  const pyramid = new Pyramid(history.heldBytes);
  for (const kind of ["event", "time"]) {
    const axis = makeAxis(kind, device.elapsedUs);
    for (const [from, to] of [[0, 1], [0.2, 0.21], [0.3, 0.9]].map((pair) => pair.map((share) => share * axis.end))) {
      const { begins, shown } = sampleEvents(axis, pyramid, device.eventCount, from, to, 500);
      assert.ok(shown.length > 50 && shown.length <= 1010, `${kind}: ${shown.length} samples`);
      assert.ok(begins.every((begin, i) => i === 0 || begin > begins[i - 1]));
      const covered = history.heldBytes.subarray(begins[0], Math.min(axis.eventAt(to) + 1, device.eventCount));
      const peak = covered.reduce((max, bytes) => Math.max(max, bytes));
      assert.equal(Math.max(...shown.map((event) => history.heldBytes[event])), peak);
    }
  }
});
