const COLLATORS = [
  new Intl.Collator('en'),
  new Intl.Collator('en', { ignorePunctuation: true }),
  new Intl.Collator('en', { numeric: true }),
];

const ORDERS: readonly ((a: string, b: string) => number)[] = [
  (a, b) => (a < b ? -1 : a > b ? 1 : 0),
  (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)),
  (a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0),
  ...COLLATORS.map((collator) => (a: string, b: string) => collator.compare(a, b)),
];

/**
 * Whether some collation gives this order of ids. False proves that the page is not sorted by id; true proves nothing.
 */
export function looksSorted(ids: readonly string[]): boolean {
  return ORDERS.some((compare) =>
    ids.every((id, place) => place === 0 || compare(ids[place - 1] ?? '', id) <= 0),
  );
}
