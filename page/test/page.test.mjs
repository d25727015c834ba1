// The page of a real out-of-memory error, as a reader uses it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coloursOf, hostilePage, launch, open, OUT, pageOfSnapshot, settle } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const factsOf = (page) => page.evaluate(() => JSON.parse(document.getElementById("facts").textContent));
const selected = (page) => page.evaluate(() => window.oomph.view.selectedEvent);
const shownWindow = (page) => page.evaluate(() => window.oomph.view.timeline.window);

/** The bytes the segment map shows, and what it must add up to. */
const books = (page) =>
  page.evaluate(() => {
    const { segmentMap, history, selectedEvent } = window.oomph.view;
    const drawn = segmentMap.map.segments.flatMap((segment) => segment.pieces).reduce((sum, piece) => sum + piece.bytes, 0);
    const event = Number(segmentMap.root.dataset.event);
    return { event, selectedEvent, drawn, reserved: history.reservedBytes[selectedEvent] };
  });

/** A place on the timeline, given as shares of its width and height. */
async function placeOn(page, x, y) {
  const box = await page.locator(".plot .u-over").boundingBox();
  return [box.x + x * box.width, box.y + y * box.height];
}

test("a real OOM: the answer first, then the pictures", async () => {
  const { page, faults } = await open(browser, pageOfSnapshot("oom_outputs_kept_in_list"));
  const { verdict } = await factsOf(page);
  assert.equal(await page.locator("h1").textContent(), verdict.summary);
  assert.ok(verdict.summary.length > 10);
  assert.match(await page.locator(".blame").textContent(), new RegExp(`oomcases\\.py:${verdict.line}`));

  assert.ok((await coloursOf(page, ".plot canvas")) > 5, "the timeline drew");
  assert.ok((await coloursOf(page, ".segment-map canvas")) > 3, "the segment map drew");
  assert.ok((await coloursOf(page, ".flame canvas")) > 3, "the flame graph drew");
  assert.match(await page.locator(".mark.oom").textContent(), /out of memory: 2.00MiB requested/);

  const guilty = await page.evaluate(({ file, line }) => {
    const isGuilty = ({ frame }) => frame && frame.line === line && file.endsWith(frame.file.split("/").pop());
    return window.oomph.view.flame.boxes.filter(isGuilty).map((box) => box.bytes);
  }, verdict);
  assert.ok(guilty.some((bytes) => bytes > 100 * 2 ** 20), "the flame graph shows the guilty line");
  assert.deepEqual(faults, [], "no request, no error");
  await page.screenshot({ path: join(OUT, "oom.png"), fullPage: true });
});

test("click, keys and zoom move all pictures together", async () => {
  const { page, faults } = await open(browser, pageOfSnapshot("oom_outputs_kept_in_list"));
  const atOom = await books(page);
  assert.equal(atOom.event, atOom.selectedEvent);
  assert.equal(atOom.drawn, atOom.reserved);

  await page.mouse.click(...(await placeOn(page, 0.2, 0.5)));
  await settle(page);
  const clicked = await books(page);
  assert.ok(clicked.selectedEvent < atOom.selectedEvent);
  assert.equal(clicked.event, clicked.selectedEvent, "the map follows");
  assert.equal(clicked.drawn, clicked.reserved);
  assert.ok(clicked.reserved < atOom.reserved);

  await page.keyboard.press("ArrowRight");
  assert.equal(await selected(page), clicked.selectedEvent + 1);
  await page.keyboard.press("o");
  assert.equal(await selected(page), atOom.selectedEvent);
  await page.keyboard.press("p");
  const [{ peak_event }] = (await factsOf(page)).devices;
  assert.equal(await selected(page), peak_event);

  const whole = await shownWindow(page);
  await page.mouse.move(...(await placeOn(page, 0.4, 0.5)));
  await page.mouse.wheel(0, -600);
  await settle(page);
  const zoomed = await shownWindow(page);
  assert.ok(zoomed.to - zoomed.from < 0.5 * (whole.to - whole.from), "the wheel zooms in");

  await page.mouse.down();
  await page.mouse.move(...(await placeOn(page, 0.6, 0.5)), { steps: 5 });
  await page.mouse.up();
  await settle(page);
  const panned = await shownWindow(page);
  assert.ok(panned.from < zoomed.from, "a drag pans");
  assert.ok(Math.abs(panned.to - panned.from - (zoomed.to - zoomed.from)) < 1e-6);
  assert.equal(await selected(page), peak_event, "a drag selects nothing");

  await page.keyboard.press("0");
  await settle(page);
  assert.deepEqual(await shownWindow(page), whole);
  await page.locator("button", { hasText: "time" }).first().click();
  await page.mouse.click(...(await placeOn(page, 0.9, 0.5)));
  await settle(page);
  const late = await books(page);
  assert.equal(late.drawn, late.reserved);
  assert.deepEqual(faults, []);
});

test("the accused can be coloured", async () => {
  const { page, faults } = await open(browser, pageOfSnapshot("oom_outputs_kept_in_list"));
  const { verdict } = await factsOf(page);
  await page.locator("button", { hasText: "verdict" }).click();
  await settle(page);
  const [, accused] = await page.locator(".legend li").allTextContents();
  assert.match(accused, /blamed by the verdict/);
  const bytes = await page.evaluate(() => {
    const { history, selectedEvent } = window.oomph.view;
    const { accused, heldBytes } = history.device.blocks;
    return history.liveBlocks(selectedEvent).reduce((sum, block) => sum + accused[block] * heldBytes[block], 0);
  });
  assert.ok(Math.abs(bytes - verdict.bytes) < 0.05 * verdict.bytes, `${bytes} accused, ${verdict.bytes} said`);
  assert.deepEqual(faults, []);
});

test("every moment of several kinds of history adds up", async () => {
  for (const name of ["special_expandable", "special_streams", "special_mempool", "oom_fragmentation"]) {
    const { page, faults } = await open(browser, pageOfSnapshot(name));
    const last = (await page.evaluate(() => window.oomph.view.history.device.eventCount)) - 1;
    for (const share of [0, 0.3, 0.6, 1]) {
      await page.evaluate((event) => window.oomph.view.select(event), Math.round(share * last));
      await settle(page);
      const { drawn, reserved } = await books(page);
      assert.equal(drawn, reserved, `${name} at ${share}`);
    }
    const [facts] = (await factsOf(page)).devices;
    await page.evaluate((event) => window.oomph.view.select(event), facts.peak_event);
    await settle(page);
    const peaks = await page.evaluate(() => ({
      reserved: Math.max(...window.oomph.view.history.reservedBytes),
      allocated: window.oomph.view.segmentMap.map.allocatedBytes,
    }));
    assert.equal(peaks.reserved, facts.peak_reserved_bytes, `${name}: the replay's own peak`);
    assert.equal(peaks.allocated, facts.peak_allocated_bytes, `${name}: the replay's own peak`);
    assert.deepEqual(faults, []);
    await page.context().close();
  }
});

test("a block tells its size, line and stack", async () => {
  const { page, faults } = await open(browser, pageOfSnapshot("oom_outputs_kept_in_list"));
  const chart = page.locator(".segment-map .chart");
  await chart.scrollIntoViewIfNeeded();
  await chart.hover({ position: { x: 400, y: 60 } });
  await page.locator(".tooltip .stack").waitFor();
  assert.match(await page.locator(".tooltip").first().textContent(), /MiB.*oomcases\.py:\d+/s);
  await chart.click({ position: { x: 400, y: 60 } });
  const details = await page.locator(".details").textContent();
  assert.match(details, /segment of .* at 0x[0-9a-f]+/);
  await chart.dblclick({ position: { x: 400, y: 60 } });
  await page.locator(".caption button", { hasText: "all segments" }).click();
  assert.deepEqual(faults, []);
});

test("hostile names stay text", async () => {
  const { page, faults } = await open(browser, hostilePage());
  assert.equal(await page.locator("img, iframe, b b").count(), 0);
  assert.match(await page.locator(".source").textContent(), /<img src=x onerror=alert\(1\)>/);
  assert.ok(!(await page.locator("body").innerText()).includes("\u202e"), "nothing reorders the text around it");
  await page.locator(".segment-map .chart").hover({ position: { x: 400, y: 60 } });
  await page.locator(".tooltip .stack").waitFor();
  assert.equal(await page.locator("img").count(), 0);
  assert.match(await page.locator(".snippet .named").first().textContent(), /<img src=x onerror=alert\(1\)>/);
  assert.deepEqual(faults, []);
});

test("readable dark and light, wide and narrow", async () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 800, 400]) {
      const { page, faults } = await open(browser, pageOfSnapshot("oom_fragmentation"), { colorScheme, viewport: { width, height: 900 } });
      const scrolled = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(scrolled <= width, `nothing sticks out at ${width}`);
      assert.deepEqual(faults, []);
      await page.screenshot({ path: join(OUT, `${colorScheme}-${width}.png`), fullPage: true });
      await page.context().close();
    }
  }
});

test("the charts follow a change from light to dark", async () => {
  const { page, faults } = await open(browser, pageOfSnapshot("oom_fragmentation"), { colorScheme: "light" });
  await page.emulateMedia({ colorScheme: "dark" });
  await settle(page);
  const [red] = await page.evaluate(() => {
    const canvas = document.querySelector(".segment-map canvas");
    return canvas.getContext("2d").getImageData(0.3 * canvas.width, 14, 1, 1).data;
  });
  assert.ok(red > 0 && red < 100, `free space is dark: ${red}`);
  assert.deepEqual(faults, []);
});

test("several devices take turns", async () => {
  const { page, faults } = await open(browser, hostilePage());
  const first = await page.evaluate(() => window.oomph.view.history.device.eventCount);
  await page.locator(".device-choice select").selectOption("1");
  await settle(page);
  const second = await page.evaluate(() => window.oomph.view.history.device.eventCount);
  assert.notEqual(second, first);
  const { drawn, reserved } = await books(page);
  assert.equal(drawn, reserved);
  assert.deepEqual(faults, []);
});
