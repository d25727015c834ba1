// What is checked in is what the sources give: nobody needs Node to build oomph, and nothing else can slip in.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bundle, licences, LICENCES, SCRIPT } from "../build.mjs";

const WAY_OUT = "is not what page/ gives: run `npm --prefix page run build` and commit it";

test("the bundle is what the sources give", async () => {
  assert.ok(readFileSync(SCRIPT, "utf8") === (await bundle()), `${SCRIPT} ${WAY_OUT}`);
});

test("the licences are those of the locked packages", () => {
  assert.ok(readFileSync(LICENCES, "utf8") === licences(), `${LICENCES} ${WAY_OUT}`);
});

test("the bundle names no folder of the machine that built it", () => {
  const script = readFileSync(SCRIPT, "utf8");
  const folder = new URL("../", import.meta.url).pathname;
  assert.ok(!script.includes(folder) && !script.includes("node_modules"));
});
