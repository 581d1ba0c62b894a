import { TransactionSize } from '../../../src/core/transaction-size.ts';
import type { GuardLimits } from '../../../src/core/deletions/guard.ts';
import { DERIVED_COLLECTIONS, STATE_TOPIC } from '../../../src/model/collections.ts';
import type { Tenant } from '../../../src/table/tenant.ts';
import { rejectCodec } from '../chains/chain-codecs.ts';

import { SCOPE } from './broker.ts';
import { tenantReader } from './tenant-row.ts';
import type { TenantWorld } from './tenant-world.ts';

/** Like the defaults, at the scale of the simulated hub: 50 of 1,000 rows and more. */
export const GUARD: GuardLimits = { rows: 8, ratio: 0.2 };

/** Chains of absences leave all at once, and no person decides on them. */
const LAX: GuardLimits = { rows: 1_000, ratio: 1 };

/** A change in the same millisecond after a page was looked up has the same time as the page. */
const OVERLAP_MS = 1;
/** Replace the real pauses, during which most of a history would sleep: those of up to a minute, and those of the watchers. */
const LONGEST_SLEEP_MS = 20;
const LONGEST_WATCHERS_SLEEP_MS = 80;
const MINUTE_MS = 60_000;
const INCREMENTAL_EVERY_MS = 8;
const CONFIRM_AFTER_MS = 30;

/** A tenant of several collections among simulated parts; everything between these parts is real. */
export function tenantParts(
  world: TenantWorld,
  process: number,
  {
    now,
    randomId,
    ...parts
  }: Pick<Tenant, 'hub' | 'log' | 'state' | 'emit'> & Pick<Tenant['runtime'], 'now' | 'randomId'>,
): Tenant {
  const { absences, broker, collections } = world;
  const { time, random } = world.at;
  const reader = absences?.mappingOf(process).reader ?? tenantReader;
  return {
    ...SCOPE,
    ...parts,
    owner: 'a process',
    collections: collections.map((name) => ({
      name,
      reader,
      encodeReject: (value) => rejectCodec.toBuffer(value),
      incrementalOverlapMs: OVERLAP_MS,
      incrementalEveryMs: name === 'class-students' ? 10 * INCREMENTAL_EVERY_MS : INCREMENTAL_EVERY_MS,
      fullSync: { at: '00:00', timeZone: 'UTC' },
      size: new TransactionSize(),
      parentIds: name === 'afterschool-users' ? world.afterschoolsOf(process) : undefined,
    })),
    absences: absences?.partsFor(process),
    guard: absences === null ? GUARD : LAX,
    confirmAfterMs: CONFIRM_AFTER_MS,
    scopesAhead: 2,
    prepare: async () => {
      const derived = absences === null ? [] : [...DERIVED_COLLECTIONS, STATE_TOPIC];
      broker.create([...collections, 'rejects', ...derived]);
    },
    runtime: {
      now,
      random: () => random.next(),
      randomId,
      sleep: (ms, signal) =>
        time.sleep(Math.min(ms, ms < MINUTE_MS ? LONGEST_SLEEP_MS : LONGEST_WATCHERS_SLEEP_MS), signal),
      turn: () => time.sleep(0),
    },
  };
}
