/** Colours. The style sheet defines those of the document; charts ask for them here, so both change together. */

/** Follows the reader's choice of dark or light. */
const darkQuery = window.matchMedia("(prefers-color-scheme: dark)");

export interface Theme {
  text: string;
  faint: string;
  grid: string;
  surface: string;
  free: string;
  reserved: string;
  alarm: string;
  /** A frame of the user's own code, and one of a library. */
  ownFrame: string;
  libraryFrame: string;
}

/** The colours in force now. */
export function theme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  return {
    text: colour("text"),
    faint: colour("faint"),
    grid: colour("grid"),
    surface: colour("surface"),
    free: colour("free"),
    reserved: colour("reserved"),
    alarm: colour("alarm"),
    ownFrame: colour("own-frame"),
    libraryFrame: colour("library-frame"),
  };
}

/** Calls back when the reader changes between dark and light. */
export function onThemeChange(redraw: () => void): void {
  darkQuery.addEventListener("change", redraw);
}

/** The document's own font, for text inside charts. */
export const FONT_FAMILY = 'system-ui, "Segoe UI", "DejaVu Sans", sans-serif';

/** For the line the verdict blames; nothing else has it. */
export const GUILTY_COLOUR = "#e5484d";
export const WAITING_COLOUR = "#e2b93b";

/** By category code. */
export const CATEGORY_COLOURS = [
  "#4e79a7",
  "#b07aa1",
  "#f28e2b",
  "#76b7b2",
  "#9c755f",
  "#59a14f",
  "#bab0ac",
  "#8795ab",
];

/** For lines of code, the largest first; the last is for all the rest together. */
export const LINE_COLOURS = ["#4e79a7", "#59a14f", "#f28e2b", "#b07aa1", "#76b7b2", "#9c755f", "#ff9da7", "#86bcb6"];
export const OTHER_LINES_COLOUR = "#8795ab";
