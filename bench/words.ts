import type { Spread } from './spread.ts';

export function spread({ min, median, max }: Spread, digits = 1): string {
  const dash = min < 0 ? ' to ' : '–';
  return `${median.toFixed(digits)} (${min.toFixed(digits)}${dash}${max.toFixed(digits)})`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-GB');
}
