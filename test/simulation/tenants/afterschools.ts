import type { CollectionName, TopicSuffix } from '../../../src/model/collections.ts';
import { splitCompositeKey } from '../../../src/model/keys.ts';
import type { SeededRandom } from '../parts/seeded-random.ts';
import { AFTERSCHOOLS, type RowCollection } from './tenant-hub.ts';
import type { TenantWorld } from './tenant-world.ts';
import type { TenantRow } from './tenant-row.ts';

export const AFTERSCHOOL_USERS = 'afterschool-users';

/** How often a process starts with other afterschools than the one before. */
const CHANGES_OFTEN = 0.3;

/** The afterschools that the configuration of each process names: they come, leave and come back between two starts. */
export class ConfiguredAfterschools {
  readonly #random: SeededRandom;
  /** By the number of the process, from 1. */
  readonly #named: (readonly string[])[] = [AFTERSCHOOLS];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  of(process: number): readonly string[] {
    return this.#named[Math.min(process, this.#named.length - 1)] ?? [];
  }

  /** Chooses those of the next process; `must`: they differ from those of the one before. Returns whether they differ. */
  choose(must = false): boolean {
    const before = this.#named.at(-1) ?? AFTERSCHOOLS;
    const isOther = must || this.#random.chance(CHANGES_OFTEN);
    const next = isOther ? this.#others(before) : before;
    this.#named.push(next);
    return isOther;
  }

  /** At least one: without any the collection would be switched off. */
  #others(before: readonly string[]): readonly string[] {
    const choices = Array.from({ length: 2 ** AFTERSCHOOLS.length - 1 }, (_, at) =>
      AFTERSCHOOLS.filter((_id, position) => (((at + 1) >> position) & 1) === 1),
    );
    return this.#random.pick(choices.filter((each) => each.join() !== before.join()));
  }
}

/** The afterschool of a key; of `rejects`, that of the row that could not be read. Null: of no afterschool. */
export function afterschoolOf(topic: TopicSuffix, key: string): string | null {
  if (topic === AFTERSCHOOL_USERS) return splitCompositeKey(key)?.[0] ?? null;
  if (topic !== 'rejects') return null;
  const [collection, row = ''] = splitCompositeKey(key) ?? [];
  return collection === AFTERSCHOOL_USERS ? (splitCompositeKey(row)?.[0] ?? null) : null;
}

/** Whether the configuration of a process names the afterschool of a record, if the record has one. */
export function isNamed(
  world: TenantWorld,
  process: number,
  { topic, key }: { topic: TopicSuffix; key: string },
): boolean {
  const afterschool = afterschoolOf(topic, key);
  return afterschool === null || world.afterschoolsOf(process).includes(afterschool);
}

/** Whether the configuration of the newest process names the afterschool. */
export function isNamedNow(world: TenantWorld, topic: TopicSuffix, key: string): boolean {
  return isNamed(world, world.processes.length, { topic, key });
}

/** The rows that the hub shows to the newest process, by record key. */
export function shownNow(world: TenantWorld, collection: RowCollection): ReadonlyMap<string, TenantRow> {
  const rows = world.hub.shown(collection);
  if (collection !== AFTERSCHOOL_USERS) return rows;
  return new Map([...rows].filter(([key]) => isNamedNow(world, collection, key)));
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
  const whole = ofCollection.findLastIndex(
    ({ progress, by }, at) =>
      progress.lastCompleteFull !== null &&
      progress.lastCompleteFull.syncId !== ofCollection[at - 1]?.progress.lastCompleteFull?.syncId &&
      isNamed(world, by, { topic: collection, key }),
  );
  return (
    whole >= 0 && ofCollection.slice(whole).every(({ by }) => isNamed(world, by, { topic: collection, key }))
  );
}
