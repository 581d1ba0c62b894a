/** Several measurements of one thing. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  return {
    min: at(0),
    median: (at(Math.floor(middle)) + at(Math.ceil(middle))) / 2,
    max: at(sorted.length - 1),
  };
}

/** The median with the least and the most, where they differ. */
export function spread({ min, median, max }: Spread, digits = 1): string {
  if (min === max) return median.toFixed(digits);
  const dash = min < 0 ? ' to ' : '–';
  return `${median.toFixed(digits)} (${min.toFixed(digits)}${dash}${max.toFixed(digits)})`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-GB');
}
