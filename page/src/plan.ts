/** What the page of a plan shows first: whether the job fits, what it takes, which cards would do, what is not known. */

import { CardRow, CATEGORIES, Facts, Fitted, Plan } from "./data";
import { element } from "./dom";
import { formatBytes, formatShare } from "./format";
import { Sources } from "./snippet";
import { renderModules, section, table } from "./tables";
import { CATEGORY_COLOURS } from "./theme";
import { className, renderAdvice, renderBlame, renderClassLine, renderFigureList } from "./verdict";

/** The answer and the figures behind it. */
export function renderPlanHead({ source_name, verdict }: Facts, plan: Plan, sources: Sources): HTMLElement {
  const { answer, tone } = plan.fitted === null ? answerOf(plan) : answerOfSearch(plan.fitted);
  const why = plan.fits || verdict.class === "none" ? [] : renderReason(verdict.summary, className(verdict));
  return element(
    "header",
    { class: `verdict plan ${tone}` },
    renderClassLine(answer, source_name),
    ...(plan.fitted === null ? [element("h1", {}, plan.sentence)] : renderSearch(plan.fitted, plan.sentence)),
    plan.growth === null ? null : element("p", { class: "growth" }, plan.growth),
    renderPlanFigures(plan),
    ...why,
    ...(plan.fits ? [] : renderBlame(verdict, sources)),
    plan.advice.length === 0 ? null : element("h2", {}, "What to do"),
    renderAdvice(plan.advice),
    element(
      "p",
      { class: "made-by" },
      element("code", {}, plan.command_line),
      plan.environment === "" ? null : element("span", {}, plan.environment),
    ),
  );
}

function answerOf(plan: Plan): { answer: string; tone: string } {
  if (!plan.fits) return { answer: "does not fit", tone: "alarm" };
  return plan.growth === null ? { answer: "fits", tone: "calm" } : { answer: "fits, but grows", tone: "caution" };
}

function answerOfSearch({ fits }: Fitted): { answer: string; tone: string } {
  return fits ? { answer: "fits with remedies", tone: "calm" } : { answer: "does not fit", tone: "alarm" };
}

/** What was found and tried, then a heading for what follows: without it the two would seem to contradict. */
function renderSearch({ sentence, tried }: Fitted, asItIs: string): HTMLElement[] {
  const rows = tried.map(({ remedies, peak_bytes, slowdown, fits }) => [
    remedies,
    peak_bytes === null ? "" : formatBytes(peak_bytes),
    `${slowdown.toFixed(2)}x`,
    element("span", { class: fits ? "fit fits" : "fit" }, fits ? "fits" : ""),
  ]);
  return [
    element("h1", {}, sentence),
    table(["remedies", "peak", "time", ""], rows),
    element("h2", {}, "The job as it is, without remedies"),
    element("p", {}, asItIs),
  ];
}

function renderReason(summary: string, kind: string): HTMLElement[] {
  return [element("p", { class: "reason" }, element("b", {}, `${kind[0].toUpperCase()}${kind.slice(1)}: `), summary)];
}

function renderPlanFigures(plan: Plan): HTMLElement {
  const figures: [string, string][] = [];
  if (plan.roomy_bytes !== null) figures.push(["takes when there is room", formatBytes(plan.roomy_bytes)]);
  if (plan.least_bytes !== null) figures.push(["least memory it runs in", formatBytes(plan.least_bytes)]);
  figures.push([`capacity of the ${plan.card_title}`, formatBytes(plan.capacity_bytes)]);
  if (plan.seen !== "") figures.push(["what was run", plan.seen]);
  return renderFigureList(figures);
}

/** What the peak is made of, other cards, and what is not known. */
export function renderPlanOverview(plan: Plan): HTMLElement {
  return element(
    "div",
    { class: "overview-grid" },
    element("div", {}, renderCategories(plan), renderModules("Allocated by module of the model", plan.modules, allocatedBytes(plan)), renderUnknown(plan)),
    element("div", {}, renderCards(plan.cards)),
  );
}

/** What was allocated at the peak: categories leave nothing out. */
function allocatedBytes({ categories }: Plan): number {
  return categories.reduce((sum, { bytes }) => sum + bytes, 0);
}

function renderCategories(plan: Plan): HTMLElement | null {
  const { capacity_bytes, card_title, peak_moment } = plan;
  const shown = plan.categories.filter(({ bytes }) => bytes > 0);
  if (shown.length === 0) return null;
  const totalBytes = allocatedBytes(plan);
  const rows = shown.map(({ what, bytes }) => [
    element("span", { class: "category" }, swatch(what), what),
    formatBytes(bytes),
    formatShare(bytes, totalBytes),
  ]);
  const made = section(`Allocated ${peak_moment}`, ["category", "allocated", "share"], rows);
  made.querySelector("h2")!.after(renderBar(shown, totalBytes, capacity_bytes, card_title));
  return made;
}

/** The categories side by side, against the card. */
function renderBar(categories: Plan["categories"], totalBytes: number, capacityBytes: number, cardTitle: string): HTMLElement {
  const scaleBytes = Math.max(totalBytes, capacityBytes, 1);
  const percent = (bytes: number) => `${(100 * bytes) / scaleBytes}%`;
  const parts = categories.map(({ what, bytes }) => {
    const part = element("i", { title: `${what}: ${formatBytes(bytes)}` });
    part.style.background = categoryColour(what);
    part.style.width = percent(bytes);
    return part;
  });
  const card = element("b", {});
  card.style.left = percent(capacityBytes);
  const label = `${formatBytes(totalBytes)} allocated; the ${cardTitle} has ${formatBytes(capacityBytes)}`;
  return element(
    "div",
    { class: "memory" },
    element("div", { class: "memory-bar", role: "img", "aria-label": label }, ...parts, card),
    element("p", { class: "hint" }, `${label}.`),
  );
}

/** A sentence may begin with a plain word, or with a name, which stays as it is. */
function capitalized(sentence: string): string {
  return /^[a-z]+ /.test(sentence) ? `${sentence[0].toUpperCase()}${sentence.slice(1)}` : sentence;
}

/** Said also when there is nothing of it: silence would not tell a reader that it was looked for. */
function renderUnknown({ unknown }: Plan): HTMLElement {
  const sentences = unknown.length === 0 ? ["Nothing: no value was read back, and every call was modelled."] : unknown;
  return element(
    "section",
    { class: "card unknown" },
    element("h2", {}, "What a plan cannot know"),
    element("ul", {}, ...sentences.map((sentence) => element("li", {}, capitalized(sentence)))),
  );
}

function renderCards(cards: CardRow[]): HTMLElement | null {
  if (cards.length === 0) return null;
  const smallestFirst = [...cards].sort((a, b) => a.capacity_bytes - b.capacity_bytes);
  const rows = smallestFirst.map(({ name, capacity_bytes, fit, planned }) => [
    element("span", {}, element("bdi", { class: "line" }, name), planned ? element("span", { class: "faint" }, " planned") : null),
    formatBytes(capacity_bytes),
    element("span", { class: `fit ${fit.replaceAll(" ", "-")}` }, fit),
  ]);
  return element(
    "section",
    { class: "card table cards" },
    element("h2", {}, "Cards"),
    table(["card", "capacity", "result"], rows),
    element("p", { class: "hint" }, ...cardNotes(cards)),
  );
}

function cardNotes(cards: CardRow[]): (string | HTMLElement)[] {
  const notes: (string | HTMLElement)[] = ["The job was run on cards marked “planned”; for the others, its requests were replayed with their memory. "];
  const close = cards.find(({ fit }) => fit === "close");
  if (close) notes.push("“close” is too close for a replay to tell: ", element("code", {}, `oomph plan --gpu ${close.name}`), " can.");
  return notes;
}

function swatch(what: string): HTMLElement {
  const made = element("i", { class: "swatch" });
  made.style.setProperty("--colour", categoryColour(what));
  return made;
}

/** The colour the timeline has for a category; the command may shorten its name. */
function categoryColour(what: string): string {
  const code = CATEGORIES.findIndex((name) => name.startsWith(what));
  return CATEGORY_COLOURS[code >= 0 ? code : CATEGORIES.indexOf("other")];
}
