// The reader of the payload: varints, columns, moments.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { load } from "./load.mjs";

const { ColumnReader, decodePayload, unpack, NEVER } = await load("data.ts");

/** Unsigned LEB128, written independently of the page. */
function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; ) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest > 0n ? low | 0x80 : low);
    if (rest === 0n) return bytes;
  }
}

const zigzag = (value) => varint(value < 0 ? -2 * value - 1 : 2 * value);
const numbers = (...values) => values.flatMap(varint);
const deltas = (...values) => values.flatMap((value, i) => zigzag(value - (i === 0 ? 0 : values[i - 1])));
const text = (value) => [...varint(Buffer.byteLength(value)), ...Buffer.from(value)];

/** Two events: a block and its failure to grow; the first of two blocks is older than the history. */
const PAYLOAD = Uint8Array.from([
  ...numbers(2), ...text("main"), ...text("träin.py"),
  ...numbers(1, 0, 1, 7), // One frame: name, file, line.
  ...numbers(1), ...deltas(0), ...deltas(0), // One node below the root.
  ...numbers(2, 1, 0, 1, 0), // Two stacks: leaves, then frames to name.
  ...numbers(1), // One device.
  ...numbers(2, 0, 8, 1_700_000_000_000_000), ...deltas(0, -5), ...numbers(4096, 99),
  ...numbers(512),
  ...numbers(2), ...deltas(0, 1), ...numbers(3, 0), ...numbers(1, 0), ...deltas(2 ** 38, 2 ** 38 + 1),
  ...numbers(10, 512), ...numbers(502, 0), ...numbers(0, 7), ...numbers(0, 1), ...numbers(1, 0),
  ...numbers(1), ...deltas(0), ...numbers(0), ...deltas(2 ** 38), ...numbers(2 ** 21), ...numbers(0, 0, 0, 1, 0),
]);

test("numbers keep 53 bits", () => {
  for (const value of [0, 127, 128, 2 ** 32, 2 ** 53 - 1]) {
    assert.equal(new ColumnReader(Uint8Array.from(varint(value))).number(), value);
  }
  for (const value of [0, -1, 1, -(2 ** 40), 2 ** 40]) {
    assert.equal(new ColumnReader(Uint8Array.from(zigzag(value))).signed(), value);
  }
});

test("a payload is read column by column", () => {
  const { stacks, devices } = decodePayload(PAYLOAD);
  assert.deepEqual(stacks.frames, [{ name: "main", file: "träin.py", line: 7 }]);
  assert.deepEqual([...stacks.leaf], [1, 0]);
  assert.deepEqual([...stacks.blameFrame], [0, -1]);
  const [{ blocks, segments, failures, elapsedUs }] = devices;
  assert.deepEqual([...elapsedUs], [0, 0], "time never falls");
  assert.deepEqual(failures, [{ event: 1, requestedBytes: 4096, deviceFreeBytes: 99 }]);
  assert.deepEqual([...blocks.start], [0, 1]);
  assert.deepEqual([...blocks.givenBack], [2, NEVER]);
  assert.deepEqual([...blocks.end], [2, NEVER]);
  assert.deepEqual([...blocks.address], [2 ** 47, 2 ** 47 + 512]);
  assert.deepEqual([...blocks.heldBytes], [512, 512]);
  assert.deepEqual([...blocks.accused], [1, 0]);
  assert.deepEqual([...segments.bytes], [2 ** 21]);
  assert.deepEqual([...segments.end], [NEVER]);
});

test("damage is noticed", () => {
  assert.throws(() => decodePayload(PAYLOAD.subarray(0, PAYLOAD.length - 1)), /ends too early/);
  assert.throws(() => decodePayload(Uint8Array.from([...PAYLOAD, 0])), /beyond its end/);
  assert.throws(() => decodePayload(Uint8Array.from([1, 100, 65])), /ends too early/);
});

test("the packed form is gzip in base64", async () => {
  const packed = gzipSync(PAYLOAD).toString("base64");
  assert.deepEqual(await unpack(`\n${packed}\n`), PAYLOAD);
});
