/** Numbers and text as people read them. */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** A size as the command line shows it, `show` in bytes.rs: `512B`, `1.50MiB`, `24.00GiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 1023.996 would print as 1024.00, which is the next unit's 1.00.
  while (value >= 1023.995 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${bytes}B` : `${value.toFixed(2)}${UNITS[unit]}`;
}

/** A mark of a scale, whose values are round: `16GiB` rather than `16.00GiB`. */
export function formatTick(bytes: number): string {
  return formatBytes(bytes).replace(/\.00(?=\D)/, "");
}

/** `1 segment`, `2 segments`. */
export function formatMany(count: number, thing: string): string {
  return `${formatCount(count)} ${thing}${count === 1 ? "" : "s"}`;
}

/** `1234567` → `1,234,567`. */
export function formatCount(count: number): string {
  return count.toLocaleString("en-US");
}

/** Microseconds since the first event → `+1.234 s`. */
export function formatElapsed(elapsedUs: number): string {
  const seconds = elapsedUs / 1e6;
  if (seconds < 1) return `+${(elapsedUs / 1e3).toFixed(2)} ms`;
  if (seconds < 120) return `+${seconds.toFixed(3)} s`;
  const minutes = Math.floor(seconds / 60);
  return `+${minutes} min ${(seconds - minutes * 60).toFixed(1)} s`;
}

/** `part` of `whole` → `12.3%`; a small part is never shown as none, and an empty whole has no parts. */
export function formatShare(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const percent = (100 * part) / whole;
  return part > 0 && percent < 0.05 ? "<0.1%" : `${percent.toFixed(1)}%`;
}

/** Controls, and characters that reorder or hide the text around them. */
const DECEPTIVE = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Names come from files and may hold anything: what cannot be seen is spelled out. */
export function cleanText(text: string): string {
  return text.replace(DECEPTIVE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The last component of a path. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1) || path;
}
