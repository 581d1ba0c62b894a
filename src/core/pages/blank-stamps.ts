const NAME = Buffer.from('"dateLastModified"');
const SPACE = 0x20;
const COLON = 0x3a;
const QUOTE = 0x22;
/** The bytes that a timestamp in UTC, or with an offset, consists of. None of them can end a JSON string. */
const IS_STAMP_BYTE = new Uint8Array(256);
for (const byte of Buffer.from('0123456789TZ:.+-')) IS_STAMP_BYTE[byte] = 1;
const SHORTEST_STAMP = '2026-01-01T00:00:00Z'.length;
const LONGEST_STAMP = '2026-01-01T00:00:00.000000000+00:00'.length;

export interface BlankedText {
  /** A view that is valid until the next call. */
  readonly bytes: Buffer;
  /** Number of values taken out. */
  readonly stamps: number;
  /** The most bytes from one value to the next, or to an end of the text. */
  readonly longestGap: number;
}

/** Reused: a new buffer of a page's size costs more than the copying. */
let scratch = Buffer.alloc(0);

/**
 * Takes the value of every `"dateLastModified": "…"` out of a JSON text, without parsing it. Null if one of the values
 * is anything but a timestamp of digits and `T`, `Z`, `:`, `.`, `+`, `-`.
 *
 * Two texts with the same result have the same structure and differ in such values alone: no byte of a value can end a
 * string, and the result shows where the values were. Native search and copies make this several times as fast as
 * `JSON.parse`.
 */
export function blankStamps(text: Buffer): BlankedText | null {
  if (scratch.length < text.length) scratch = Buffer.allocUnsafeSlow(text.length);
  let copiedTo = 0;
  let end = 0;
  let stamps = 0;
  let longestGap = 0;
  for (let name = text.indexOf(NAME); name !== -1; name = text.indexOf(NAME, copiedTo)) {
    const from = openingQuote(text, name + NAME.length) + 1;
    const to = from === 0 ? -1 : closingQuote(text, from);
    if (to === -1) return null;
    longestGap = Math.max(longestGap, from - copiedTo);
    end += text.copy(scratch, end, copiedTo, from);
    copiedTo = to;
    stamps += 1;
  }
  longestGap = Math.max(longestGap, text.length - copiedTo);
  end += text.copy(scratch, end, copiedTo);
  return { bytes: scratch.subarray(0, end), stamps, longestGap };
}

/** Where the text value of a property opens; -1 if the value is not a text. */
function openingQuote(text: Buffer, afterName: number): number {
  let at = afterName;
  while (text[at] === SPACE) at += 1;
  if (text[at] !== COLON) return -1;
  at += 1;
  while (text[at] === SPACE) at += 1;
  return text[at] === QUOTE ? at : -1;
}

/** Where the timestamp that begins at `from` closes; -1 if there is no timestamp. */
function closingQuote(text: Buffer, from: number): number {
  let at = from;
  while (IS_STAMP_BYTE[text[at] ?? 0] === 1) at += 1;
  const length = at - from;
  return text[at] === QUOTE && length >= SHORTEST_STAMP && length <= LONGEST_STAMP ? at : -1;
}
