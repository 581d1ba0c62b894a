import { mappingDigest, shortDigest } from '../content-hash.ts';
import { canonicalText } from '../json-text.ts';
import { MAPPING_VERSION, SET_FIELDS } from '../mapping.ts';
import { isJsonObject } from '../raw-json.ts';
import type { LessonFields } from './read-lesson.ts';

/** What the configuration does to lessons. */
export interface LessonMapping {
  readonly fields: LessonFields;
  /** IANA name. Times without an offset, and days, are in this zone. */
  readonly timeZone: string;
  /** Top-level fields of the lessons; see the settings of a collection. */
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  readonly ignore: readonly string[];
}

/** The content hash of a day. A changed mapping changes every hash, as for the other collections. */
export class DayHash {
  readonly #prefix: string;
  readonly #sets: ReadonlySet<string>;
  readonly #without: Readonly<Record<string, null>>;

  constructor(mapping: LessonMapping) {
    const { fields, timeZone, ignore } = mapping;
    const digest = mappingDigest({ mappingVersion: MAPPING_VERSION, ...mapping });
    this.#prefix = `${digest.toString('hex')} ${timeZone} ${canonicalText(fields)}`;
    const lists = [fields.class, fields.teachers, fields.rooms].flatMap((name) => name.split('.'));
    this.#sets = new Set([...SET_FIELDS, ...lists]);
    // Canonical text omits null members.
    this.#without = Object.fromEntries(['dateLastModified', ...ignore].map((name) => [name, null]));
  }

  /** Canonical text of a lesson without `dateLastModified`, `href`s, ignored fields and the order of references. */
  contentOf(lesson: unknown): string {
    const isObject = isJsonObject(lesson);
    const content = isObject ? Object.assign(Object.create(null) as object, lesson, this.#without) : lesson;
    return canonicalText(content, { sets: this.#sets });
  }

  /** `texts`: the student, the day, and the content of each lesson. */
  of(texts: readonly string[]): Buffer {
    return shortDigest(`${this.#prefix}\n${JSON.stringify(texts)}`);
  }

  /** The order of lessons does not matter. */
  ofReject(reason: string, lessons: readonly unknown[]): Buffer {
    return this.of([reason, ...lessons.map((lesson) => this.contentOf(lesson)).toSorted()]);
  }
}
