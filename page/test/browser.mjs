// Pages in a headless Chromium.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** `OOMPH` names the command to make pages with; without it cargo builds one. */
const OOMPH = process.env.OOMPH;
/** Pages and screenshots are left here for people to look at. */
export const OUT = process.env.OOMPH_PAGE_OUT ?? mkdtempSync(join(tmpdir(), "oomph-page-"));

const CHROMIUM = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const run = (program, ...args) => execFileSync(program, args, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
const oomph = (...args) => (OOMPH ? run(OOMPH, ...args) : run("cargo", "run", "-q", "--locked", "-p", "oomph", "--", ...args));
const invented = (...args) => run("cargo", "run", "-q", "--locked", "-p", "oomph-explain", "--example", "invented_page", "--", ...args);

/** The page of a snapshot of the corpus. */
export function pageOfSnapshot(name) {
  const out = join(OUT, `${name}.html`);
  oomph("explain", join(ROOT, "corpus/h200", `${name}.pickle.gz`), "--html", out);
  return out;
}

/** The page of an invented history of this many events. */
export function pageOfEvents(count) {
  const out = join(OUT, `${count}-events.html`);
  invented("--events", String(count), out);
  return out;
}

const plans = new Map();

/** The page of an invented plan whose answer is "fits" or "does not fit"; made once. */
export function planPage(answer) {
  if (!plans.has(answer)) {
    const out = join(OUT, `plan-${answer.replaceAll(" ", "-")}.html`);
    invented("--plan", answer, out);
    plans.set(answer, out);
  }
  return plans.get(answer);
}

/** The page of an invented job whose every name is hostile. */
export function hostilePage() {
  const out = join(OUT, "hostile.html");
  invented("--hostile", out);
  return out;
}

export function launch() {
  if (!CHROMIUM) throw new Error("no Chromium found: apt-get install chromium, or set CHROMIUM=/path/to/it");
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
}

/** Opens a page and waits until it has drawn itself; `faults` collects what must not happen. */
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && faults.push(message.text()));
  page.on("pageerror", (error) => faults.push(String(error)));
  page.on("dialog", (dialog) => faults.push(`dialog: ${dialog.message()}`));
  const url = pathToFileURL(file).href;
  page.on("request", (request) => request.url() !== url && !request.url().startsWith("data:") && faults.push(request.url()));
  const openedMs = performance.now();
  await page.goto(url);
  await page.waitForFunction(() => window.oomph?.ready === true, undefined, { timeout: 60_000 });
  await settle(page);
  return { page, faults, openMs: performance.now() - openedMs };
}

/** Waits until what was asked for is drawn. */
export function settle(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** How many differently coloured pixels a canvas shows. */
export function coloursOf(page, selector) {
  return page.evaluate((selector) => {
    const canvas = document.querySelector(selector);
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }, selector);
}
