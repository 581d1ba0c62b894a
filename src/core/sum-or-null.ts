/** The sum of the hub's totals of several lists; null when one of them is unknown. */
export function sumOrNull(totals: readonly (number | null)[]): number | null {
  let sum = 0;
  for (const total of totals) {
    if (total === null) return null;
    sum += total;
  }
  return sum;
}
