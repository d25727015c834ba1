// Numbers and names as people read them.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./load.mjs";

const { baseName, cleanText, formatBytes, formatElapsed, formatMany, formatShare, formatTick } = await load("format.ts");

test("sizes look as they do on the command line", () => {
  const shown = [0, 511, 1000, 1024, 1536 * 2 ** 10, 1023 * 2 ** 20, 24 * 2 ** 30].map(formatBytes);
  assert.deepEqual(shown, ["0B", "511B", "1000B", "1.00KiB", "1.50MiB", "1023.00MiB", "24.00GiB"]);
  assert.deepEqual([16 * 2 ** 30, 1.5 * 2 ** 30].map(formatTick), ["16GiB", "1.50GiB"]);
});

test("times and counts", () => {
  assert.deepEqual([1500, 2.5e6, 3.7e8].map(formatElapsed), ["+1.50 ms", "+2.500 s", "+6 min 10.0 s"]);
  assert.deepEqual([1, 2].map((count) => formatMany(count, "block")), ["1 block", "2 blocks"]);
});

test("a share never hides a small part", () => {
  const shown = [0, 1, 100, 123_456].map((part) => formatShare(part, 1_000_000));
  assert.deepEqual([...shown, formatShare(0, 0)], ["0.0%", "<0.1%", "<0.1%", "12.3%", "–"]);
});

test("what cannot be seen is spelled out", () => {
  assert.equal(cleanText("a\u202eyp.exe\u0000\nb"), "a\\u202eyp.exe\\u0000\\u000ab");
  assert.equal(cleanText("</script>ünïcode 模型"), "</script>ünïcode 模型");
});

test("paths of either kind", () => {
  assert.deepEqual(["/a/b.py", "C:\\x\\c.py", "d.py", "/"].map(baseName), ["b.py", "c.py", "d.py", "/"]);
});
