import { canonicalText } from '../json-text.ts';
import { SET_FIELDS } from '../mapping.ts';
import { isJsonObject } from '../raw-json.ts';
import type { LessonFields } from './lesson-fields.ts';

/**
 * Members, at any depth, that say when or how often something was touched and not what it is. Like `dateLastModified`
 * of the other collections they are published, but are no change by themselves.
 */
const STAMPS: ReadonlySet<string> = new Set([
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

/** Deeper than any lesson goes; below it stamps are content. */
const DEEPEST = 50;

/** Text that is equal for lessons that say the same (see {@link STAMPS}; `href`s and the order of references aside). */
export type LessonContent = (lesson: Readonly<Record<string, unknown>>) => string;

/** `ignore`: top-level fields that are published but are no change by themselves. */
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
    return canonicalText(withoutStamps(bare(kept), DEEPEST), { sets });
  };
}

function withoutStamps(value: unknown, depth: number): unknown {
  if (depth === 0) return value;
  if (Array.isArray(value)) return value.map((element) => withoutStamps(element, depth - 1));
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !STAMPS.has(name));
  return bare(kept.map(([name, member]) => [name, withoutStamps(member, depth - 1)]));
}

/** Without a prototype, `__proto__` is a name like any other. */
function bare(entries: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const object = Object.create(null) as Record<string, unknown>;
  for (const [name, value] of entries) object[name] = value;
  return object;
}
