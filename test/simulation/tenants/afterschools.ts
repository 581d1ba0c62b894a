import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import type { SeededRandom } from '../parts/seeded-random.ts';
import { AFTERSCHOOLS } from './tenant-hub.ts';
import type { TenantWorld } from './tenant-world.ts';

/* Afterschools that enter the configuration, leave it and come back (invariant 3). */

export const AFTERSCHOOL_USERS = 'afterschool-users';

/** How often a process starts with other afterschools than the one before. */
const CHANGES_OFTEN = 0.3;

/** Those of the next process, at least one: without any the collection would be switched off. */
export function nextAfterschools(
  before: readonly string[],
  random: SeededRandom,
  must: boolean,
): readonly string[] {
  if (!must && !random.chance(CHANGES_OFTEN)) return before;
  const choices = Array.from({ length: 2 ** AFTERSCHOOLS.length - 1 }, (_, at) =>
    AFTERSCHOOLS.filter((_id, position) => (((at + 1) >> position) & 1) === 1),
  );
  return random.pick(choices.filter((each) => each.join() !== before.join()));
}

/** The afterschool of a key; of `rejects`, that of the row that could not be read. Null: of no afterschool. */
export function afterschoolOf(topic: string, key: string): string | null {
  if (topic === AFTERSCHOOL_USERS) return splitCompositeKey(key)?.[0] ?? null;
  if (topic !== 'rejects') return null;
  const [collection, row = ''] = splitCompositeKey(key) ?? [];
  return collection === AFTERSCHOOL_USERS ? (splitCompositeKey(row)?.[0] ?? null) : null;
}

/** Whether the configuration of a process (default: the newest) names the afterschool of a record, if it has one. */
export function isNamed(
  world: TenantWorld,
  { topic, key }: { readonly topic: string; readonly key: string },
  process = world.processes.length,
): boolean {
  const afterschool = afterschoolOf(topic, key);
  return afterschool === null || world.afterschoolsOf(process).includes(afterschool);
}

/** Named afterschools without a known row: the process must load them at its start. */
export function unknownYet(world: TenantWorld, process: number): readonly string[] {
  if (!world.collections.includes(AFTERSCHOOL_USERS)) return [];
  const known = new Set(
    [...world.broker.viewOf(AFTERSCHOOL_USERS).keys()].map((key) => afterschoolOf(AFTERSCHOOL_USERS, key)),
  );
  return world.afterschoolsOf(process).filter((each) => !known.has(each));
}

/** Whether an incremental sync can know all changes: no process left the afterschool out since the last full sync. */
export function isReadWhole(world: TenantWorld, collection: CollectionName, key: string): boolean {
  if (collection !== AFTERSCHOOL_USERS) return true;
  const ofCollection = world.broker.transactions.filter(({ progress }) => progress.collection === collection);
  const isNamedBy = ({ by }: { by: number }) => isNamed(world, { topic: collection, key }, by);
  const whole = ofCollection.findLastIndex(
    (each, at) =>
      each.progress.lastCompleteFull !== null &&
      each.progress.lastCompleteFull.syncId !== ofCollection[at - 1]?.progress.lastCompleteFull?.syncId &&
      isNamedBy(each),
  );
  return whole >= 0 && ofCollection.slice(whole).every(isNamedBy);
}

/** A process publishes no rows of afterschools that its configuration does not name. */
export function problemsOfUnnamed(world: TenantWorld): string[] {
  return ([AFTERSCHOOL_USERS, 'rejects'] as const).flatMap((topic) =>
    world.broker.recordsOf(topic).flatMap((record) => {
      const by = world.broker.transactions[record.transaction]?.by ?? 0;
      return record.body === null || isNamed(world, record, by)
        ? []
        : [`published although the configuration does not name its afterschool: ${topic} ${record.key}`];
    }),
  );
}

/** If a scan can skip rows and has no total, a reject whose row it did not read may still be there. */
export const canClearRejects = ({ manner }: TenantWorld) => manner.paging === 'keyset' || manner.hasTotals;

/** When other afterschools are named while the hub is at rest, those that stay named publish nothing. */
export function problemsOfOthersNamed(world: TenantWorld, transactions: number): string[] {
  return [...world.broker.history.keys()].flatMap((topic: TopicSuffix) =>
    world.broker
      .recordsOf(topic)
      .filter(({ transaction }) => transaction >= transactions)
      .filter((record) => isNamed(world, record, world.processes.length - 1) && isNamed(world, record))
      .filter(({ body }) => topic !== 'rejects' || body !== null || canClearRejects(world))
      .map(({ key }) => `nothing had changed but the configuration, yet published: ${topic} ${key}`),
  );
}
