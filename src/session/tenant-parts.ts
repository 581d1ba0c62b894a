import type { TenantChains } from '../absences/absence-options.ts';
import type { Runtime } from '../runtime.ts';
import type { GuardLimits } from '../core/deletions/missing.ts';
import type { FullPullTime } from '../core/full-pull-time.ts';
import type { RowReader } from '../core/decoded-row.ts';
import type { Hub } from '../hub/hub.ts';
import type { CollectionName } from '../model/collections.ts';
import type { TenantLog } from '../log/log.ts';
import type { TenantState } from '../state/index-store.ts';
import type { RejectValue } from '../table/pending-transaction.ts';
import type { Emit } from '../core/pipeline-events.ts';
import type { LessonSourceOptions } from '../lessons/lesson-source.ts';

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

export type ScheduleSettings = Omit<LessonSourceOptions, 'absentIn' | 'allStudents' | 'now'>;

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
