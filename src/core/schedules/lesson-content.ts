import { canonicalText } from '../json-text.ts';
import { SET_FIELDS } from '../mapping.ts';
import { isJsonObject } from '../raw-json.ts';
import type { LessonFields } from './lesson-fields.ts';

/**
 * Members, at any depth, that say when or how often something was modified. Like `dateLastModified` of the other
 * collections they are published, but a change of these alone is no change.
 */
const MODIFICATION_FIELDS: ReadonlySet<string> = new Set([
  'dateLastModified',
  'lastModified',
  'lastModifiedDate',
  'lastModifiedTime',
  'modified',
  'modifiedAt',
  'modifiedDate',
  'modifiedTime',
  'lastUpdated',
  'updated',
  'updatedAt',
  'sistEndret',
  'etag',
  '_etag',
  '@odata.etag',
  '@odata.context',
]);

/** No lesson is nested deeper; below this depth modification fields count as content. */
const DEEPEST = 50;

/** Canonical text of a lesson, without {@link MODIFICATION_FIELDS}, `href`s and the order of references. */
export type LessonContent = (lesson: Readonly<Record<string, unknown>>) => string;

/** `ignore`: top-level fields that are published; a change of these alone is no change. */
export function createLessonContent(options: {
  readonly fields: LessonFields;
  readonly ignore: readonly string[];
}): LessonContent {
  const { fields, ignore } = options;
  const ignored = new Set(ignore);
  const lists = [...fields.classes, ...fields.teachers, ...fields.rooms];
  const sets = new Set([...SET_FIELDS, ...lists.map((name) => name.slice(name.lastIndexOf('.') + 1))]);
  return (lesson) => {
    const kept = Object.entries(lesson).filter(([name]) => !ignored.has(name));
    return canonicalText(withoutModification(bare(kept), DEEPEST), { sets });
  };
}

function withoutModification(value: unknown, depth: number): unknown {
  if (depth === 0) return value;
  if (Array.isArray(value)) return value.map((element) => withoutModification(element, depth - 1));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !MODIFICATION_FIELDS.has(name));
  return bare(kept.map(([name, member]) => [name, withoutModification(member, depth - 1)]));
}

/** An object without a prototype, in which `__proto__` is an ordinary key. */
function bare(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of entries) object[name] = value;
  return object;
}
