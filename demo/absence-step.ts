import { absenceTimes, changedTimes } from './absence-times.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The displayed parts of an event of `absence-changes`: ids and times, never text of a person. */
export interface AbsenceStep {
  readonly operation: string;
  readonly versionId: string;
  /** Null when there is no previous version. */
  readonly previousId: string | null;
  /** Whether the event has no more of the previous version than its id. */
  readonly isOnlyIdKnown: boolean;
  /** Start and end in the time zone; those of both versions if both are known and differ. */
  readonly times: string;
  /** Class of the absence, null for none. */
  readonly classId: string | null;
  readonly previousClassId: string | null;
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
  const isOnlyIdKnown = previous !== null && previous['fromTime'] === null && previous['toTime'] === null;
  const known = isOnlyIdKnown ? null : previous;
  const classId = idIn(version['classesAffected']);
  return {
    operation: textOf(change['operation']),
    versionId: textOf(version['sourcedId']),
    previousId: previous === null ? null : textOf(previous['sourcedId']),
    isOnlyIdKnown,
    times:
      known === null
        ? absenceTimes(version, timeZone)
        : changedTimes({ before: known, after: version }, timeZone),
    classId,
    previousClassId: known === null ? classId : idIn(known['classesAffected']),
    cause: textOf(change['cause']),
    mergedInto: typeof change['mergedInto'] === 'string' ? change['mergedInto'] : null,
    isSnapshot: change['snapshot'] === true,
  };
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
