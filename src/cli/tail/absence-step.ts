import { absenceTimes, changedTimes } from './absence-times.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The displayed parts of an event of `absence-changes`: ids, times and names of fields, never text of a person. */
export interface AbsenceStep {
  readonly step: number;
  readonly operation: string;
  readonly versionId: string;
  /** Null when there is no previous version. */
  readonly previousId: string | null;
  /** Start and end in the time zone; those of both versions if they differ. */
  readonly times: string;
  /** Class of the absence, null for none. */
  readonly classId: string | null;
  readonly previousClassId: string | null;
  /** Names of other fields that differ from the previous version. */
  readonly otherFields: readonly string[];
  readonly cause: string;
  readonly mergedInto: string | null;
  readonly isSnapshot: boolean;
}

/** Null when `value` is no event: the removal of a key, or a value of another shape. */
export function absenceStepOf(value: unknown, timeZone: string): AbsenceStep | null {
  const change = fieldsOf(value);
  const version = fieldsOf(change?.['version']);
  if (change === null || version === null) return null;
  const previous = fieldsOf(change['previousVersion']);
  const classId = idIn(version['classesAffected']);
  return {
    step: typeof change['step'] === 'number' ? change['step'] : 0,
    operation: textOf(change['operation']),
    versionId: textOf(version['sourcedId']),
    previousId: previous === null ? null : textOf(previous['sourcedId']),
    times:
      previous === null
        ? absenceTimes(version, timeZone)
        : changedTimes({ before: previous, after: version }, timeZone),
    classId,
    previousClassId: previous === null ? classId : idIn(previous['classesAffected']),
    otherFields: previous === null ? [] : otherFields(previous, version),
    cause: textOf(change['cause']),
    mergedInto: typeof change['mergedInto'] === 'string' ? change['mergedInto'] : null,
    isSnapshot: change['snapshot'] === true,
  };
}

/** Fields that every new version changes, or that have a place of their own. */
const NOT_LISTED = new Set([
  'sourcedId',
  'dateLastModified',
  'href',
  'fromTime',
  'toTime',
  'classesAffected',
  'replaces',
  'replacedBy',
]);
/** Fields that depend on the times. */
const DURATION = new Set(['absenceDurationUnit', 'absenceDurationValue']);

function otherFields(before: Fields, after: Fields): string[] {
  const hasMoved = before['fromTime'] !== after['fromTime'] || before['toTime'] !== after['toTime'];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => {
    if (NOT_LISTED.has(name) || (hasMoved && DURATION.has(name))) return false;
    return withoutLinks(before[name]) !== withoutLinks(after[name]);
  });
}

function withoutLinks(value: unknown): string {
  return JSON.stringify(value ?? null, (name, inner: unknown) => (name === 'href' ? undefined : inner)) ?? '';
}

function fieldsOf(value: unknown): Fields | null {
  return typeof value === 'object' && value !== null ? (value as Fields) : null;
}

function idIn(reference: unknown): string | null {
  const id = fieldsOf(reference)?.['sourcedId'];
  return typeof id === 'string' ? id : null;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
