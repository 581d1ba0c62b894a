import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { GuardLimits } from '../../../src/core/deletions/guard.ts';
import type { Hub } from '../../../src/hub/hub.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import type { Emit } from '../../../src/core/pipeline-events.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import type { TenantLog } from '../../../src/log/log.ts';
import type { TenantState } from '../../../src/state/index-store.ts';
import { rejectCodec } from '../chains/chain-codecs.ts';
import type { MirroredAbsences } from '../chains/mirrored-absences.ts';
import { SCOPE } from './broker-log.ts';
import type { Surroundings } from '../parts/surroundings.ts';
import { tenantReader } from './tenant-row.ts';

/** Like the defaults, at the scale of the simulated hub: 50 of 1,000 rows and more. */
export const GUARD: GuardLimits = { rows: 8, ratio: 0.2 };

/** Chains of absences leave all at once, and no person decides on them. */
const LAX: GuardLimits = { rows: 1_000, ratio: 1 };

/** A change in the same millisecond after a page was looked up has the same time as the page. */
const OVERLAP_MS = 1;
/** Replaces the real pauses, during which most of a history would sleep. */
const LONGEST_SLEEP_MS = 20;
const DELTA_EVERY_MS = 8;
const CONFIRM_AFTER_MS = 30;

/** A tenant of several collections among simulated parts; everything between these parts is real. */
export function tenantParts(options: {
  at: Surroundings;
  hub: Hub;
  log: TenantLog;
  state: TenantState;
  collections: readonly CollectionName[];
  afterschoolIds: readonly string[];
  process: number;
  /** Null: they are not mirrored. */
  absences: MirroredAbsences | null;
  /** Creates topics. */
  prepare: () => void;
  now: () => number;
  randomId: () => string;
  emit: Emit;
}): Tenant {
  const { hub, log, state, collections, afterschoolIds, absences, process, now, randomId, emit } = options;
  const reader = absences?.mappingOf(process).reader;
  const { time, random } = options.at;
  return {
    ...SCOPE,
    owner: 'a process',
    hub,
    log,
    state,
    collections: collections.map((name) => ({
      name,
      reader: reader ?? tenantReader,
      encodeReject: (value) => rejectCodec.toBuffer(value),
      deltaOverlapMs: OVERLAP_MS,
      deltaEveryMs: name === 'class-students' ? 10 * DELTA_EVERY_MS : DELTA_EVERY_MS,
      fullPull: { at: '00:00', timeZone: 'UTC' },
      size: new TransactionSize(),
      parentIds: name === 'afterschool-users' ? afterschoolIds : undefined,
    })),
    absences: absences?.partsFor(process),
    guard: absences === null ? GUARD : LAX,
    confirmAfterMs: CONFIRM_AFTER_MS,
    scopesAhead: 2,
    prepare: async () => options.prepare(),
    runtime: {
      now,
      random: () => random.next(),
      randomId,
      sleep: (ms, signal) => time.sleep(Math.min(ms, LONGEST_SLEEP_MS), signal),
    },
    emit,
  };
}
