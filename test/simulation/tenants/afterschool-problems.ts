import { compositeKey } from '../../../src/model/keys.ts';
import { afterschoolOf, AFTERSCHOOL_USERS, isNamed, shownNow } from './afterschools.ts';
import type { CommittedRecord } from './broker.ts';
import type { TenantWorld } from './tenant-world.ts';
import { hashTextOf } from './tenant-row.ts';

/* Checks of afterschools that enter the configuration, leave it and come back (invariant 3). */

const TOPICS = [AFTERSCHOOL_USERS, 'rejects'] as const;
const NOT_NAMED = 'although the configuration does not name its afterschool';

/** A process neither publishes nor removes rows that its configuration does not name, except those that a person names. */
export function problemsOfUnnamed(world: TenantWorld): string[] {
  return TOPICS.flatMap((topic) =>
    (world.broker.history.get(topic) ?? []).flatMap((record) => {
      const by = world.broker.transactions[record.transaction]?.by ?? 0;
      if (isNamed(world, by, record)) return [];
      if (record.body !== null) return [`published ${NOT_NAMED}: ${topic} ${record.key}`];
      return isAskedFor(world, by, record) ? [] : [`removed ${NOT_NAMED}: ${topic} ${record.key}`];
    }),
  );
}

function isAskedFor({ approvals, purges }: TenantWorld, by: number, record: CommittedRecord): boolean {
  const { topic, key, committedAtMs } = record;
  const isPurged = purges.some(
    ({ afterschool, process, atMs }) =>
      process === by && afterschool === afterschoolOf(topic, key) && atMs <= committedAtMs,
  );
  return (
    isPurged ||
    approvals.some(
      ({ collection, keys, atMs }) => collection === topic && atMs <= committedAtMs && keys.has(key),
    )
  );
}

/** None of their deletions is withheld after a full sync. */
export async function problemsOfWaitingUnnamed(world: TenantWorld): Promise<string[]> {
  if (!world.collections.includes(AFTERSCHOOL_USERS)) return [];
  const listed = await world.redis.memory.withheld(AFTERSCHOOL_USERS);
  return [...listed.keys()]
    .filter((key) => !isNamed(world, world.processes.length, { topic: AFTERSCHOOL_USERS, key }))
    .map((key) => `withheld ${NOT_NAMED}: ${key}`);
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

/** A purge leaves no row, and no memory of missing or withheld rows. */
export async function problemsOfPurge(world: TenantWorld, afterschool: string): Promise<string[]> {
  const isOf = (key: string): boolean => afterschoolOf(AFTERSCHOOL_USERS, key) === afterschool;
  const { memory } = world.redis;
  const remembered = [
    ...(await memory.withheld(AFTERSCHOOL_USERS)).keys(),
    ...(await memory.missing(AFTERSCHOOL_USERS)).keys(),
  ];
  const published = TOPICS.flatMap((topic) =>
    [...world.broker.viewOf(topic).keys()].filter((key) => afterschoolOf(topic, key) === afterschool),
  );
  return [
    ...published.map((key) => `left of what was purged: ${key}`),
    ...remembered.filter(isOf).map((key) => `remembered of what was purged: ${key}`),
  ];
}

/** When other afterschools are named while the hub is at rest, those that were named before publish nothing. */
export function problemsOfOthersNamed(world: TenantWorld, transactions: number): string[] {
  const process = world.processes.length;
  return [...world.broker.history.values()].flatMap((records) =>
    records
      .filter(({ transaction }) => transaction >= transactions)
      .filter((record) => isNamed(world, process - 1, record))
      .map(({ topic, key }) => `nothing had changed but the configuration, yet published: ${topic} ${key}`),
  );
}
