/** Keys of records, as the contract defines them. */

/** Percent-encodes the characters that would make a key of two parts ambiguous. */
function encodePart(part: string): string {
  return part.replaceAll('%', '%25').replaceAll('|', '%7C');
}

/** Undoes {@link encodePart}. */
function decodePart(part: string): string {
  return part.replaceAll('%7C', '|').replaceAll('%25', '%');
}

/** Returns `<first>|<second>`, with `|` and `%` inside a part percent-encoded. */
export function compositeKey(first: string, second: string): string {
  return `${encodePart(first)}|${encodePart(second)}`;
}

/** Takes the place of the second part: the key then stands for all rows of the first part. */
export const ALL = '*';

/** The key of what concerns all rows of a class, an afterschool or a student, and no single row. */
export function keyOfAll(scope: string): string {
  return compositeKey(scope, ALL);
}

/** Returns the two parts of a {@link compositeKey}; null for any other text. */
export function splitCompositeKey(key: string): readonly [string, string] | null {
  const bar = key.indexOf('|');
  if (bar === -1) return null;
  return [decodePart(key.slice(0, bar)), decodePart(key.slice(bar + 1))];
}
