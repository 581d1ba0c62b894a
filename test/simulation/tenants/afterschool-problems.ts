import { compositeKey } from '../../../src/model/keys.ts';
import { afterschoolOf, AFTERSCHOOL_USERS, isNamed, shownNow } from './afterschools.ts';
import type { TenantWorld } from './tenant-world.ts';
import { hashTextOf } from './tenant-row.ts';

/* Checks of afterschools that enter the configuration, leave it and come back (invariant 3). */

const TOPICS = [AFTERSCHOOL_USERS, 'rejects'] as const;
const NOT_NAMED = 'although the configuration does not name its afterschool';

/** A process publishes no rows of afterschools that its configuration does not name. */
export function problemsOfUnnamed(world: TenantWorld): string[] {
  return TOPICS.flatMap((topic) =>
    (world.broker.history.get(topic) ?? []).flatMap((record) => {
      const by = world.broker.transactions[record.transaction]?.by ?? 0;
      if (record.body === null || isNamed(world, by, record)) return [];
      return [`published ${NOT_NAMED}: ${topic} ${record.key}`];
    }),
  );
}

/** Rows of these afterschools that are not published as the hub has them. */
export function notLoaded(world: TenantWorld, afterschools: readonly string[]): readonly string[] {
  if (afterschools.length === 0) return [];
  const rows = world.broker.viewOf(AFTERSCHOOL_USERS);
  const rejects = world.broker.viewOf('rejects');
  return [...shownNow(world, AFTERSCHOOL_USERS)].flatMap(([key, row]) => {
    if (!afterschools.includes(afterschoolOf(AFTERSCHOOL_USERS, key) ?? '')) return [];
    const published = row.isReadable ? rows.get(key) : rejects.get(compositeKey(AFTERSCHOOL_USERS, key));
    return published?.headers['content-hash'] === hashTextOf(row) ? [] : [key];
  });
}

/** When other afterschools are named while the hub is at rest, those that stay named publish nothing. */
export function problemsOfOthersNamed(world: TenantWorld, transactions: number): string[] {
  const process = world.processes.length;
  return [...world.broker.history.values()].flatMap((records) =>
    records
      .filter(({ transaction }) => transaction >= transactions)
      .filter((record) => isNamed(world, process - 1, record) && isNamed(world, process, record))
      .map(({ topic, key }) => `nothing had changed but the configuration, yet published: ${topic} ${key}`),
  );
}
