import type { Row } from '../../oracle/history.ts';

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

/** Versions are listed again and again, and never changed. */
const JSONS = new WeakMap<HubVersion, Row>();

/** The row as the hub returns it. */
export function jsonOf(version: HubVersion): Row {
  const json = JSONS.get(version) ?? toJson(version);
  JSONS.set(version, json);
  return json;
}

function toJson(version: HubVersion): Row {
  const { deletedAtMs, replaces, replacedBy, minutes } = version;
  // Spec 2.2: "absent or empty otherwise".
  const notDeleted = minutes % 2 === 0 ? {} : { deletedTime: '' };
  return {
    sourcedId: version.id,
    status: 'active',
    dateLastModified: timeText(version.modifiedAtMs),
    fromTime: version.isReadable ? timeText(version.fromMs) : 'yesterday',
    toTime: timeText(version.toMs),
    absenceDurationUnit: 'Minutes',
    absenceDurationValue: minutes,
    student: reference('user', version.studentId),
    school: [reference('org', 'school 1')],
    replaces: replaces && reference('absence', replaces),
    replacedBy: replacedBy && reference('absence', replacedBy),
    ...(deletedAtMs === null ? notDeleted : { deletedTime: timeText(deletedAtMs) }),
  };
}

function reference(type: string, sourcedId: string): Record<string, string> {
  return { sourcedId, type, href: `https://hub.example/${type}/${sourcedId}` };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
