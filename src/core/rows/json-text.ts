import { isRawJson } from './raw-json.ts';

const UTC_BY_OFFSET = /^(\d{4}-\d\d-\d\d[Tt ][\d:.,]+)\+00(?::?00)?$/;

/** `+00:00` becomes `Z`, so that a time in UTC has one text, whichever of the two a hub sends. */
function withZ(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(UTC_BY_OFFSET, '$1Z') : value;
}

/** The JSON text in which a value of the hub is published. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value);
  // With a replacer, `JSON.stringify` takes four times as long.
  return text.includes('+00') ? JSON.stringify(value, (_name, member) => withZ(member)) : text;
}

/** What differs from one canonical text to another. */
interface Writing {
  readonly keepHrefs?: boolean;
  /** Names of arrays whose order carries no meaning. */
  readonly sets?: ReadonlySet<string> | null;
}

/**
 * JSON text that is equal for values with the same meaning: keys are sorted, null members and `href`s omitted, and
 * elements of the arrays named in `sets` sorted by their text. `name`: the name of the value itself. For values of
 * `parseLossless`; throws `RangeError` for one that is nested thousands of levels deep.
 */
export function canonicalText(value: unknown, writing: Writing = {}, name = ''): string {
  if (typeof value === 'string') return quoted(withZ(value) as string);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) {
    const texts = value.map((element) => canonicalText(element, writing));
    if (writing.sets?.has(name) === true) texts.sort();
    return `[${texts.join(',')}]`;
  }
  if (isRawJson(value)) return value.rawJSON;
  const members = value as Record<string, unknown>;
  let text = '';
  for (const each of Object.keys(members).sort()) {
    if (members[each] === null || (each === 'href' && writing.keepHrefs !== true)) continue;
    const member = `${quoted(each)}:${canonicalText(members[each], writing, each)}`;
    text += text === '' ? member : `,${member}`;
  }
  return `{${text}}`;
}

/** Quotes, backslashes, control characters and surrogates. */
const NEEDS_ESCAPES = /["\\]|[^ -\ud7ff\ue000-\uffff]/;

/** The result of `JSON.stringify`, without the cost of calling it for every short text. */
function quoted(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
}
