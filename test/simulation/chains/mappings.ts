import { strictFieldsOf } from '../../../src/core/rows/mapping-rules.ts';
import { pseudonymise } from '../../../src/core/rows/pseudonymise.ts';
import type { RowReader } from '../../../src/core/rows/decoded-row.ts';
import { createRowReader } from '../../../src/core/rows/row-reader.ts';
import { versionSchema } from './chain-codecs.ts';

/** Mappings of absences: the fields that a configuration drops and pseudonymises. */
export interface Mapping {
  readonly drop: readonly string[];
  readonly pseudonymise: readonly string[];
  readonly pseudonymiseKey: string;
  readonly reader: RowReader;
}

const KEYS = ['the first key of them', 'the second key of them'] as const;
const [FIRST_KEY, SECOND_KEY] = KEYS;

function mappingOf(options: Omit<Mapping, 'reader'>): Mapping {
  const strictFields = strictFieldsOf('absence-versions');
  return {
    ...options,
    reader: createRowReader({ schema: versionSchema, strictFields, keepsStudent: true, ...options }),
  };
}

export const PLAIN = mappingOf({ drop: [], pseudonymise: [], pseudonymiseKey: '' });

/** None drops the student: without it the owner of a record is unknown, and the events depend on it. */
export const MAPPINGS: readonly Mapping[] = [
  PLAIN,
  mappingOf({ drop: ['school'], pseudonymise: [], pseudonymiseKey: '' }),
  mappingOf({ drop: [], pseudonymise: ['student'], pseudonymiseKey: FIRST_KEY }),
  mappingOf({ drop: ['school'], pseudonymise: ['student'], pseudonymiseKey: FIRST_KEY }),
  mappingOf({ drop: [], pseudonymise: ['student'], pseudonymiseKey: SECOND_KEY }),
];

const TIMES_AT_MOST = 4;

/** The id of the student by pseudonym, and by pseudonym of a pseudonym. */
const STUDENTS = new Map<string, string>();

const OWN_IDS = new Set<string>();

export function knowStudents(ids: readonly string[]): void {
  for (const id of ids) {
    OWN_IDS.add(id);
    let names = [id];
    for (let times = 1; times <= TIMES_AT_MOST; times += 1) {
      names = names.flatMap((name) => KEYS.map((key) => String(pseudonymise(name, key))));
      for (const name of names) STUDENTS.set(name, id);
    }
  }
}

export function hidesStudent({ pseudonymise: masked }: Mapping): boolean {
  return masked.includes('student');
}

/** Whether bytes hold a student's own id. */
export function holdsStudent(bytes: Buffer): boolean {
  return [...OWN_IDS].some((id) => bytes.includes(id));
}

/** A student's own id. */
export function studentBehind(name: string): string {
  return STUDENTS.get(name) ?? name;
}
