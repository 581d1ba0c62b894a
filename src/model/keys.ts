/** Keys of records, as the contract writes them. */

/** Percent-encodes what would make a key of two parts ambiguous; nothing else is touched. */
function encodePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('|', '%7C');
}

/** Undoes {@link encodePart}. */
function decodePart(part: string): string {
  return part.replaceAll('%7C', '|').replaceAll('%25', '%');
}

/** `<first>|<second>`, with `|` and `%` inside a part percent-encoded. */
export function compositeKey(first: string, second: string): string {
  return `${encodePart(first)}|${encodePart(second)}`;
}

/** The two parts of a {@link compositeKey}; null when the text is not one. */
export function splitCompositeKey(key: string): readonly [string, string] | null {
  const bar = key.indexOf('|');
  if (bar === -1) return null;
  return [decodePart(key.slice(0, bar)), decodePart(key.slice(bar + 1))];
}
