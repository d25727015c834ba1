// The page of a plan, as a colleague gets it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { coloursOf, launch, open, OUT, planPage, settle } from "./browser.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser?.close());

const factsOf = (page) => page.evaluate(() => JSON.parse(document.getElementById("facts").textContent));
const texts = (page, selector) => page.locator(selector).allTextContents();

test("a plan that does not fit says so first, and why", async () => {
  const { page, faults } = await open(browser, planPage("does not fit"));
  const { plan, verdict } = await factsOf(page);
  assert.equal(await page.locator(".class").textContent(), "does not fit");
  assert.equal(await page.locator("h1").textContent(), plan.sentence);
  const head = await page.locator("header").innerText();
  for (const part of ["takes when there is room", "36.41GiB", "least memory it runs in", "35.10GiB", "capacity of the RTX 4090", "23.64GiB", plan.seen, verdict.summary, plan.command_line, plan.environment, ...plan.advice]) {
    assert.ok(head.includes(part), part);
  }
  assert.equal(await page.locator("header .snippet .named").innerText(), "    logits = model(tokens.cuda())");
  assert.ok((await coloursOf(page, ".plot canvas")) > 4, "the timeline drew");
  assert.deepEqual(faults, []);
  await page.screenshot({ path: join(OUT, "plan.png"), fullPage: true });
});

test("a plan that fits blames nobody, but tells what grows", async () => {
  const { page, faults } = await open(browser, planPage("fits"));
  const { plan } = await factsOf(page);
  assert.equal(await page.locator(".class").textContent(), "fits, but grows");
  assert.equal(await page.locator(".growth").textContent(), plan.growth);
  assert.equal(await page.locator(".blame, .proof, .reason, .advice").count(), 0);
  assert.deepEqual(faults, []);
});

test("cards, categories, modules and what is not known each have a table or a list", async () => {
  const { page, faults } = await open(browser, planPage("does not fit"));
  const { plan } = await factsOf(page);
  const cards = await texts(page, ".cards tbody tr");
  assert.equal(cards.length, plan.cards.length);
  assert.match(cards[0], /^t4.*15\.00GiB.*does not fit$/, "the smallest stands first");
  assert.match(cards.join("\n"), /rtx_4090 planned.*\n.*invented_36gb.*35\.29GiBclose/s);
  assert.match(await page.locator(".cards .hint").textContent(), /oomph plan --gpu invented_36gb/);
  const [read, estimate] = plan.unknown;
  assert.deepEqual(await texts(page, ".unknown li"), [read, estimate.replace("the", "The")], "a file name keeps its case");
  const tables = (await texts(page, "section.table")).join("\n");
  assert.match(tables, /Allocated by module.*layers\.\*\.mlp × 12/s);
  assert.doesNotMatch(tables, /workspace/, "what holds nothing is left out");

  const bar = await page.locator(".memory-bar").boundingBox();
  const card = await page.locator(".memory-bar b").boundingBox();
  const totalBytes = plan.categories.reduce((sum, { bytes }) => sum + bytes, 0);
  const share = (card.x + card.width / 2 - bar.x) / bar.width;
  assert.ok(Math.abs(share - plan.capacity_bytes / totalBytes) < 0.01, `the card ends at ${share} of the bar`);
  assert.deepEqual(faults, []);
});

test("a line of a table opens to the source around it", async () => {
  const { page, faults } = await open(browser, planPage("fits"));
  const row = page.locator(".table .place", { hasText: "train.py:10" });
  assert.match(await row.locator("summary").textContent(), /loss\.backward\(\)/);
  assert.ok(!(await row.locator(".snippet").isVisible()));
  await row.locator("summary").click();
  assert.ok(await row.locator(".snippet").isVisible());
  assert.equal(await row.locator(".snippet li").count(), 7);
  assert.equal(await row.locator(".named").innerText(), "    loss.backward()");
  assert.equal(await row.locator(".named").getAttribute("value"), "10");
  assert.deepEqual(faults, []);
});

test("steps and phases stand where the job marked them", async () => {
  const { page, faults } = await open(browser, planPage("fits"));
  assert.deepEqual(await texts(page, ".mark.step span"), ["step 1", "step 2", "step 3"]);
  const phases = await texts(page, ".phases span");
  assert.deepEqual(phases, ["backward", "optimizer", "backward", "backward", "validation"]);
  const places = await page.evaluate(() => {
    const { timeline } = window.oomph.view;
    const { left } = document.querySelector(".plot .u-over").getBoundingClientRect();
    const band = document.querySelector(".phases span").getBoundingClientRect();
    return { from: timeline.plot.posToVal(band.left - left, "x"), to: timeline.plot.posToVal(band.right - left, "x") };
  });
  const [{ phases: marked }] = (await factsOf(page)).devices;
  assert.ok(Math.abs(places.from - marked[0].start) < 1 && Math.abs(places.to - marked[0].end) < 1, JSON.stringify(places));

  await page.evaluate(() => window.oomph.view.timeline.setWindow({ from: 0, to: 10 }));
  await settle(page);
  assert.equal(await page.locator(".phases span").count(), 0, "what lies outside the window is not drawn");
  assert.deepEqual(faults, []);
});

test("the card's capacity is a line of the chart, and a plan has no clock", async () => {
  const { page, faults } = await open(browser, planPage("does not fit"));
  const { plan } = await factsOf(page);
  const drawn = await page.evaluate(() => window.oomph.view.timeline.plot.data.at(-1).every((bytes) => bytes === window.oomph.view.timeline.plot.data.at(-1)[0]) && window.oomph.view.timeline.plot.data.at(-1)[0]);
  assert.equal(drawn, plan.capacity_bytes);
  assert.match((await texts(page, ".legend li")).join(), /capacity23\.64GiB/);
  assert.equal(await page.locator("button[data-value=time]").count(), 0);
  assert.doesNotMatch(await page.locator(".moment").textContent(), / s$|ms/);
  assert.deepEqual(faults, []);
});

test("no frame of oomph's own is shown", async () => {
  const { page } = await open(browser, planPage("fits"));
  const frames = await page.evaluate(() => {
    const { boxes } = window.oomph.view.flame;
    return boxes.filter(({ frame }) => frame).map(({ frame, depth }) => `${depth} ${frame.file}`);
  });
  assert.ok(frames.includes("1 train.py"), "the script is outermost");
  assert.deepEqual(frames.filter((frame) => /oomph|runpy|__main__/.test(frame)), []);
});

test("nothing sticks out, wide or narrow, light or dark", async () => {
  for (const answer of ["fits", "does not fit"]) {
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1440, 400]) {
        const { page, faults } = await open(browser, planPage(answer), { colorScheme, viewport: { width, height: 900 } });
        const outside = await page.evaluate((width) => {
          const reaches = (node) => node.getBoundingClientRect().right > width + 0.5 && !node.closest(".snippet");
          return [...document.querySelectorAll("#page *")].filter(reaches).map((node) => node.outerHTML.slice(0, 90));
        }, width);
        assert.deepEqual(outside, [], `${answer} at ${width}`);
        assert.deepEqual(faults, []);
        await page.screenshot({ path: join(OUT, `plan-${answer.replaceAll(" ", "-")}-${colorScheme}-${width}.png`), fullPage: true });
        await page.context().close();
      }
    }
  }
});
