/** The hub's counts of several lists together; null when one of them is not told. */
export function sumOrNull(totals: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const total of totals) {
    if (total === null) return null;
    sum += total;
  }
  return sum;
}
