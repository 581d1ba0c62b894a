import type { AbsenceChangeValue, EncodeEvent } from '../core/absences/event-encoder.ts';
import type { RowReader } from '../core/rows/decoded-row.ts';
import type { UnmetSettings } from '../core/rows/unmet-settings.ts';
import type { GuardLimits } from '../core/deletions/guard.ts';
import type { DailyTime } from '../core/daily-time.ts';
import type { DayReader } from '../core/lessons/read-days.ts';
import type { Emit } from '../core/pipeline-events.ts';
import type { TransactionSize } from '../core/transaction-size.ts';
import type { WhichStudents } from '../config/schedules.ts';
import type { Hub, ReadSchedule } from '../hub/hub.ts';
import type { Turns } from '../semaphore.ts';
import type { TenantLog } from '../log/log.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { Runtime } from '../runtime.ts';
import type { TenantState } from '../state/index-store.ts';

/** Value of a record in `rejects` (avro/rejects.avsc). */
export interface RejectValue {
  readonly collection: string;
  readonly sourcedId: string | null;
  readonly reason: string;
  readonly row: string | null;
  /** ms since the epoch */
  readonly firstSeenAt: number;
}

export interface TenantCollection {
  readonly name: CollectionName;
  readonly reader: RowReader;
  readonly encodeReject: (value: RejectValue) => Buffer;
  readonly incrementalEveryMs: number;
  readonly incrementalOverlapMs: number;
  readonly fullSync: DailyTime;
  /** Learned from the tenant's transactions, and kept for all sessions. */
  readonly size: TransactionSize;
  /** The parents that the configuration names; only for `afterschool-users`. */
  readonly parentIds?: readonly string[] | undefined;
  /** Gets the rows and parents that are read, to find mistyped settings; kept for all sessions. */
  readonly unmet?: UnmetSettings | undefined;
}

/** A tenant in this process, from its start to its end: what it reads, writes and remembers. */
export interface Tenant {
  readonly tenantId: string;
  /** Identifies this process as the owner. It is new each time that a process starts the tenant. */
  readonly owner: string;
  readonly topicPrefix: string;
  readonly hub: Hub;
  /** Shared by the tenants of the process at the hub's host. Left out: a full sync waits for no other full sync. */
  readonly fullSyncs?: Turns | undefined;
  readonly log: TenantLog;
  readonly state: TenantState;
  readonly collections: readonly TenantCollection[];
  /** Left out if schedules are not mirrored. */
  readonly schedules?: TenantSchedules | undefined;
  /** Undefined if absences and their changes are not mirrored. */
  readonly absences: TenantAbsences | undefined;
  readonly guard: GuardLimits;
  /** How long after a full sync that missed rows the confirming sync begins. */
  readonly confirmAfterMs: number;
  /** How many scopes of a nested collection are opened ahead of their turn. */
  readonly scopesAhead: number;
  /** Checks rights, and creates or checks topics and schemas; called before each take-over. */
  readonly prepare: () => Promise<void>;
  readonly runtime: Runtime;
  readonly emit: Emit;
}

/** The codecs and settings with which absences and their changes are derived and encoded. */
export interface TenantAbsences {
  readonly encodeEvent: EncodeEvent;
  /** Encodes an event with its records. */
  readonly encodeChange: (value: AbsenceChangeValue) => Buffer;
  /** Decodes a framed value of these topics, of any version of their schemas. */
  readonly decode: (framed: Buffer, topics: readonly TopicSuffix[]) => Promise<unknown>;
  /** The reader of `absence-versions`. */
  readonly reader: Pick<RowReader, 'encode' | 'mapping' | 'hashOf' | 'readAgain'>;
  /**
   * Absences that ended before this time (ms since the epoch) are not kept by student. Null: no absence is kept by
   * student, because the mapping takes the student out.
   */
  readonly absentSinceMs: () => number | null;
  /** How long after a deletion a null is published for the absence in `absence-changes`, ms. */
  readonly forgetAfterMs: number;
  /** Called with the students whose current absences a committed transaction has changed. */
  readonly onStudents: (students: ReadonlySet<string>) => void;
}

export interface TenantSchedules {
  readonly readSchedule: ReadSchedule;
  readonly reader: DayReader;
  readonly students: WhichStudents;
  readonly daysBack: number;
  readonly daysAhead: number;
  /** IANA name of the time zone that decides which day is today. */
  readonly timeZone: string;
  /** Students whose absences changed. */
  readonly changedScopes: ChangedScopes;
}

/** The scopes to read, because their parents have changed or because they had no answer. Kept for all sessions of a tenant. */
export class ChangedScopes {
  /** From when on each scope is to be read, ms since the epoch. */
  readonly #dueMs = new Map<string, number>();

  isDue(nowMs: number): boolean {
    return this.#dueMs.values().some((dueMs) => dueMs <= nowMs);
  }

  /** If a scope is noted several times, the earliest time counts. */
  note(scopes: Iterable<string>, dueMs = 0): void {
    for (const scope of scopes) this.#dueMs.set(scope, Math.min(dueMs, this.#dueMs.get(scope) ?? dueMs));
  }

  /** Hands over the changed scopes that are due. If `read` fails, they stay changed. */
  async take<T>(nowMs: number, read: (scopes: ReadonlySet<string>) => Promise<T>): Promise<T> {
    const due = [...this.#dueMs].filter(([, dueMs]) => dueMs <= nowMs);
    const taken = new Set(due.map(([scope]) => scope));
    for (const scope of taken) this.#dueMs.delete(scope);
    try {
      return await read(taken);
    } catch (error) {
      this.note(taken);
      throw error;
    }
  }
}
