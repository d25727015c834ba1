/** Finds the highest value of any stretch of a long series in logarithmic time. */

/** How many entries of one level make one of the next. */
const FAN = 16;

/** Positions of the highest values of stretches of equal length. */
interface Level {
  /** How many values one entry covers. */
  span: number;
  highest: Uint32Array;
}

export class Pyramid {
  private readonly levels: Level[] = [];

  constructor(private readonly values: Float64Array) {
    let below: Level = { span: 1, highest: Uint32Array.from(values, (_, i) => i) };
    while (below.highest.length > 1) {
      below = this.summarise(below);
      this.levels.push(below);
    }
  }

  /** Where the highest value of `[from, to)` lies, the first of equals; `to` must exceed `from`. */
  highest(from: number, to: number): number {
    let found = from;
    for (let at = from; at < to; ) {
      const level = this.widestLevelAt(at, to);
      found = this.higher(found, level ? level.highest[at / level.span] : at);
      at += level?.span ?? 1;
    }
    return found;
  }

  private widestLevelAt(at: number, to: number): Level | undefined {
    let widest: Level | undefined;
    for (const level of this.levels) {
      if (at % level.span !== 0 || at + level.span > to) break;
      widest = level;
    }
    return widest;
  }

  private summarise(below: Level): Level {
    const level = { span: below.span * FAN, highest: new Uint32Array(Math.ceil(below.highest.length / FAN)) };
    for (let entry = 0; entry < level.highest.length; entry++) {
      const part = below.highest.subarray(entry * FAN, (entry + 1) * FAN);
      level.highest[entry] = part.reduce((found, at) => this.higher(found, at));
    }
    return level;
  }

  private higher(a: number, b: number): number {
    return this.values[b] > this.values[a] ? b : a;
  }
}
