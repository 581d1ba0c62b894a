import type { AbsenceChangeValue } from '../core/absence-change.ts';
import type { GuardLimits } from '../core/deletions/guard.ts';
import type { AbsenceVersionValue } from '../core/absences/absence-version.ts';
import type { FullPullTime } from '../core/full-pull-time.ts';
import type { RowReader } from '../core/decoded-row.ts';
import type { Hub } from '../hub/hub.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { TenantLog } from '../log/log.ts';
import type { TenantState } from '../state/index-store.ts';
import type { RenderAbsencesParts } from '../absences/render-absences.ts';
import type { RejectValue } from './pending-transaction.ts';
import type { Emit } from './pipeline-events.ts';
import type { ScheduleSettings } from './schedules/schedule-settings.ts';

export interface TenantCollection {
  readonly name: CollectionName;
  readonly reader: RowReader;
  readonly encodeReject: (value: RejectValue) => Buffer;
  readonly deltaEveryMs: number;
  readonly deltaOverlapMs: number;
  readonly fullPull: FullPullTime;
  /** The parents that the configuration names; only for `afterschool-users`. */
  readonly parentIds?: readonly string[] | undefined;
}

/** What the process takes from its surroundings. */
export interface Runtime {
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  readonly random: () => number;
  readonly randomId: () => string;
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface TenantParts {
  readonly tenantId: string;
  readonly topicPrefix: string;
  readonly hub: Hub;
  readonly log: TenantLog;
  readonly state: TenantState;
  readonly collections: readonly TenantCollection[];
  /** Left out if schedules are not mirrored. */
  readonly schedules?: ScheduleSettings | undefined;
  /** Undefined if absences and their changes are not mirrored. */
  readonly chains: TenantChains | undefined;
  readonly guard: GuardLimits;
  /** How long after a full sync that missed rows its confirming sync begins. */
  readonly confirmAfterMs: number;
  /** How many scopes of a nested collection are opened ahead of their turn. */
  readonly scopesAhead: number;
  /** Creates or checks topics and schemas; called before each take-over. */
  readonly prepare: () => Promise<void>;
  readonly runtime: Runtime;
  readonly emit: Emit;
}

/** The parts that derive absences and their changes from versions. */
export interface TenantChains extends Pick<RenderAbsencesParts, 'encodeEvent' | 'absentSinceMs'> {
  /** Encodes an event with its records. */
  readonly encodeChange: (value: AbsenceChangeValue) => Buffer;
  /** Decodes an unframed body of `absence-versions`. */
  readonly decodeVersion: (body: Buffer) => AbsenceVersionValue;
  /** Decodes a framed value of `absence-versions`, `absences` or `absence-changes`, of any version of its schema. */
  readonly decode: (framed: Buffer, topics?: readonly TopicSuffix[]) => Promise<unknown>;
  /** The reader of `absence-versions`. */
  readonly reader: RowReader;
  readonly forgetAfterMs: number;
  /** Called with the students whose current absences a committed transaction has changed. */
  readonly onStudents: (students: ReadonlySet<string>) => void;
}
