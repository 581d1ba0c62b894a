import { RollcallError } from '../../errors.ts';
import { isJsonObject } from '../rows/raw-json.ts';

/** One page of a student's lessons. */
export interface LessonPage {
  readonly lessons: readonly unknown[];
  /** Address of the next page, absolute or relative; null where the body names none. */
  readonly next: string | null;
}

/**
 * Reads a body of `/api/core/schedules`. The specification does not show the body (4.4). It may be a list, or have
 * the list under `value`, with the next page under `@odata.nextLink`. For any other body this throws, because such a
 * body does not say that there are no lessons.
 */
export function readLessonPage(body: unknown): LessonPage {
  if (Array.isArray(body)) return { lessons: body, next: null };
  const { value, '@odata.nextLink': next } = isJsonObject(body) ? body : {};
  if (Array.isArray(value)) return { lessons: value, next: typeof next === 'string' ? next : null };
  throw unreadableLessons("the hub's answer is not a list, and has no list under `value`", {
    met: [body],
    remedy:
      'Rollcall reads only a list, or an object with a list under `value`. Let the hub or a proxy send one of these (rollcall help schedules), or leave schedules out with collections.schedules.enabled: false.',
  });
}

/** `what`: what does not fit the configuration. `met`: the objects whose field names help a person to correct it. */
export function unreadableLessons(
  what: string,
  { met, remedy }: { readonly met: readonly unknown[]; readonly remedy: string },
): RollcallError {
  const text = `Cannot read the lessons of a student: ${what}. The answer has the fields: ${fieldNames(met)}`;
  return new RollcallError('HUB_LESSONS_UNREADABLE', text, { remedy });
}

const MOST_NAMES = 20;
/**
 * A name that may be shown: it consists of letters, and is short. An object may also have names of pupils or their ids
 * as keys. Names that do not match, or are too many, are only counted.
 */
const FIELD_NAME = /^@?[\p{L}_]{1,30}(?:\.[\p{L}_]{1,30})?$/u;

/** The names of the top-level fields that have a value, in alphabetical order. */
export function fieldNames(objects: readonly unknown[]): string {
  const all = new Set<string>();
  for (const object of objects) {
    if (isJsonObject(object))
      for (const [name, value] of Object.entries(object)) if (value !== null) all.add(name);
  }
  const shown = [...all]
    .filter((name) => FIELD_NAME.test(name))
    .toSorted()
    .slice(0, MOST_NAMES);
  const others = all.size - shown.length;
  return [...shown, ...(others > 0 ? [`${others} more`] : [])].join(', ') || 'none';
}
