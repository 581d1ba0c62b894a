import type { AbsenceVersionValue } from './absence-version.ts';

/** The student and the time of a current absence. */
export interface AbsentEntry {
  readonly studentId: string;
  /** ms since the epoch, to the second */
  readonly fromMs: number;
  /** ms since the epoch, to the second */
  readonly toMs: number;
}

const HEAD_BYTES = 12;
const SECONDS_BYTES = 6;

/* absent := from, to (seconds since the epoch, 48 bits signed each) · student id, UTF-8 */

/** Null if the record lacks the student or the times. */
export function absentEntryOf(value: AbsenceVersionValue): AbsentEntry | null {
  const { student, fromTime, toTime } = value;
  if (student === undefined || student === null || typeof fromTime !== 'number' || typeof toTime !== 'number')
    return null;
  return { studentId: student.sourcedId, fromMs: fromTime, toMs: Math.max(fromTime, toTime) };
}

export function encodeAbsent(entry: AbsentEntry): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(entry.studentId));
  bytes.writeIntBE(secondsOf(entry.fromMs), 0, SECONDS_BYTES);
  bytes.writeIntBE(secondsOf(entry.toMs), SECONDS_BYTES, SECONDS_BYTES);
  bytes.write(entry.studentId, HEAD_BYTES);
  return bytes;
}

export function decodeAbsent(bytes: Buffer): AbsentEntry {
  return {
    studentId: bytes.toString('utf8', HEAD_BYTES),
    fromMs: bytes.readIntBE(0, SECONDS_BYTES) * 1000,
    toMs: bytes.readIntBE(SECONDS_BYTES, SECONDS_BYTES) * 1000,
  };
}

function secondsOf(ms: number): number {
  return Math.floor(ms / 1000);
}
