import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { chainsOf } from '../../oracle/absences.ts';
import { recordHistory } from '../../oracle/history.ts';
import { TERM_MORNING_MS } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';
import type { Running } from '../support/running.ts';
import { exampleFile, PYTHON, startProgram } from './example-process.ts';

type Row = Readonly<Record<string, unknown>>;

const AT = new Date(TERM_MORNING_MS).toISOString();

/** Who is absent at {@link AT}, by the hub's records alone (spec 3, rules 1 and 2). */
export function absentAtHub(hub: ReferenceHub): object[] {
  const rows = hub.district.snapshot('absence-versions');
  const chains = chainsOf(recordHistory(hub, ['absence-versions']).of('absence-versions'));
  const firstOf = new Map(chains.flatMap((chain) => chain.map((id) => [id, chain[0]])));
  return rows
    .filter((row) => referenceIn(row, 'replacedBy') === null && typeof row['deletedTime'] !== 'string')
    .filter((row) => timeIn(row, 'fromTime') <= TERM_MORNING_MS && TERM_MORNING_MS < timeIn(row, 'toTime'))
    .map((row) => ({
      absenceId: firstOf.get(idOf(row)) ?? '',
      student: referenceIn(row, 'student'),
      from: new Date(timeIn(row, 'fromTime')).toISOString(),
      to: new Date(timeIn(row, 'toTime')).toISOString(),
      class: referenceIn(row, 'classesAffected'),
    }))
    .toSorted((a, b) => (a.absenceId < b.absenceId ? -1 : 1));
}

function referenceIn(row: Row, field: string): string | null {
  return (row[field] as { sourcedId: string } | null | undefined)?.sourcedId ?? null;
}

function timeIn(row: Row, field: string): number {
  return Date.parse(String(row[field]));
}

/** What a program prints with `--json`. */
export interface AbsentNow {
  readonly watermark: string | null;
  /** When the last full sync began. */
  readonly completeAsOf: string;
  readonly old: boolean;
  readonly absent: readonly { readonly student: string | null }[];
}

export function prints(example: Running): AbsentNow[] {
  return example.lines().map((line) => JSON.parse(line) as AbsentNow);
}

export const TABLE_COMMANDS = {
  TypeScript: [process.execPath, exampleFile('absent-now/absent-now.ts')],
  Python: [PYTHON, exampleFile('python/absent_now.py')],
} as const;
export type Language = keyof typeof TABLE_COMMANDS;

/** `topics`: `<prefix>.<tenant>`. */
export function startTable(language: Language, topics: string, ...args: string[]): Running {
  return startProgram([...TABLE_COMMANDS[language], '--topics', topics, '--at', AT, ...args]);
}
