import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { studentBehind } from './mappings.ts';

/** A version of an absence as the simulated hub holds it (spec 2.2). */
export interface HubVersion {
  readonly id: string;
  readonly studentId: string;
  readonly replaces: string | null;
  readonly replacedBy: string | null;
  /** ms since the epoch */
  readonly deletedAtMs: number | null;
  /** ms since the epoch */
  readonly fromMs: number;
  /** ms since the epoch */
  readonly toMs: number;
  /** Rises with every change in the whole hub, so that no two contents are equal by chance. */
  readonly minutes: number;
  readonly isReadable: boolean;
  /** ms since the epoch */
  readonly modifiedAtMs: number;
}

/** The row as the hub returns it. */
export function jsonOf(version: HubVersion): Record<string, unknown> {
  const { deletedAtMs } = version;
  return {
    sourcedId: version.id,
    status: 'active',
    dateLastModified: timeText(version.modifiedAtMs),
    fromTime: version.isReadable ? timeText(version.fromMs) : 'yesterday',
    toTime: timeText(version.toMs),
    absenceDurationUnit: 'Minutes',
    absenceDurationValue: version.minutes,
    student: reference('user', version.studentId),
    school: [reference('org', 'school 1')],
    replaces: version.replaces === null ? null : reference('absence', version.replaces),
    replacedBy: version.replacedBy === null ? null : reference('absence', version.replacedBy),
    // Spec 2.2: "absent or empty otherwise".
    ...(deletedAtMs === null
      ? version.minutes % 2 === 0
        ? {}
        : { deletedTime: '' }
      : { deletedTime: timeText(deletedAtMs) }),
  };
}

function reference(type: string, sourcedId: string): Record<string, string> {
  return { sourcedId, type, href: `https://hub.example/${type}/${sourcedId}` };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}

/** The whole content in one text: the same for the hub's record and for the published one, whatever the stamp. */
export function contentOf(version: HubVersion): string {
  const { id, studentId, replaces, replacedBy, deletedAtMs, fromMs, toMs, minutes } = version;
  return JSON.stringify([id, studentId, replaces, replacedBy, deletedAtMs, fromMs, toMs, minutes]);
}

/**
 * Like {@link contentOf}, for a decoded value of `absence-versions`, `absences` or inside `absence-changes`, whatever mapping
 * it was published under.
 */
export function contentOfValue(
  value: AbsenceVersionValue & { absenceDurationValue?: number | null },
): string {
  return JSON.stringify([
    value.sourcedId,
    value.student == null ? null : studentBehind(value.student.sourcedId),
    value.replaces?.sourcedId ?? null,
    value.replacedBy?.sourcedId ?? null,
    value.deletedTime ?? null,
    value.fromTime ?? null,
    value.toTime ?? null,
    value.absenceDurationValue ?? null,
  ]);
}
