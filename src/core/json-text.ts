import { isRawJson } from './raw-json.ts';

/** Deeper values are written without recursion, which is slower and needs no stack. */
const RECURSION_DEPTH = 200;

interface Writing {
  /** Sorted keys; no members that are null, and no `href`s unless `keepHrefs`. */
  readonly canonical: boolean;
  readonly keepHrefs: boolean;
  /** Names of arrays whose order carries no meaning. */
  readonly sets: ReadonlySet<string> | null;
}

const AS_SENT: Writing = { canonical: false, keepHrefs: true, sets: null };

/** Like `JSON.stringify`, for nesting of any depth. For values of `parseLossless`. */
export function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return deepText(value, AS_SENT);
  }
}

/**
 * JSON text that is equal for values with the same meaning: keys are sorted, null members and `href`s omitted, and
 * elements of the arrays named in `sets` sorted by their text. `name`: the name of the value itself.
 */
export function canonicalText(
  value: unknown,
  options: { keepHrefs?: boolean; sets?: ReadonlySet<string> | null; name?: string } = {},
): string {
  const { keepHrefs = false, sets = null, name = '' } = options;
  return canonical(value, { canonical: true, keepHrefs, sets }, { name, depth: 0 });
}

function canonical(value: unknown, writing: Writing, place: { name: string; depth: number }): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (place.depth > RECURSION_DEPTH) return deepText(value, writing);
  const depth = place.depth + 1;
  if (Array.isArray(value)) {
    const texts = value.map((element) => canonical(element, writing, { name: '', depth }));
    if (writing.sets?.has(place.name) === true) texts.sort();
    return `[${texts.join(',')}]`;
  }
  if (isRawJson(value)) return value.rawJSON;
  let text = '';
  for (const name of memberNames(value, writing)) {
    const member = canonical((value as Record<string, unknown>)[name], writing, { name, depth });
    text += text === '' ? `${quoted(name)}:${member}` : `,${quoted(name)}:${member}`;
  }
  return `{${text}}`;
}

/** Quotes, backslashes, control characters and surrogates. */
const NEEDS_ESCAPES = /["\\]|[^ -\ud7ff\ue000-\uffff]/;

/** The result of `JSON.stringify`, without the cost of calling it for every short text. */
function quoted(text: string): string {
  return NEEDS_ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function memberNames(value: object, writing: Writing): string[] {
  if (!writing.canonical) return Object.keys(value);
  const members = value as Record<string, unknown>;
  const names: string[] = [];
  for (const name of Object.keys(members)) {
    if (members[name] !== null && (writing.keepHrefs || name !== 'href')) names.push(name);
  }
  return names.sort();
}

/** Writes the same texts without recursion; arrays keep their order. */
function deepText(root: unknown, writing: Writing): string {
  const pieces: string[] = [];
  // A stack of texts to write unchanged and of values to expand; the last element is written next.
  const todo: (string | { readonly value: unknown })[] = [{ value: root }];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    if (typeof next === 'string') {
      pieces.push(next);
      continue;
    }
    const { value } = next;
    if (typeof value !== 'object' || value === null || isRawJson(value)) {
      pieces.push(JSON.stringify(value));
    } else if (Array.isArray(value)) {
      todo.push(']');
      for (let index = value.length - 1; index >= 0; index--) {
        todo.push({ value: value[index] as unknown });
        if (index > 0) todo.push(',');
      }
      pieces.push('[');
    } else {
      todo.push('}');
      const names = memberNames(value, writing);
      for (let index = names.length - 1; index >= 0; index--) {
        const name = names[index] ?? '';
        todo.push({ value: (value as Record<string, unknown>)[name] }, `${JSON.stringify(name)}:`);
        if (index > 0) todo.push(',');
      }
      pieces.push('{');
    }
  }
  return pieces.join('');
}
