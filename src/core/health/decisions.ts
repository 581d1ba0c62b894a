import { countOf } from '../words.ts';
import type { CollectionName } from '../../model/collections.ts';
import { firstGroups, type FirstGroups } from '../withheld-groups.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantFacts } from './tenant-facts.ts';

/** Something that only a person can decide, with the command that does. */
export interface Decision {
  readonly collection: CollectionName;
  readonly what: string;
  /** The first command shows more; the others decide. */
  readonly commands: readonly string[];
  /** Withheld deletions by school, class and date; empty where they are not counted, or not yet. */
  readonly groups: readonly FirstGroups[];
}

export function decisionsOf(
  {
    tenant,
    wrongTenant,
    withheldGroups,
    areAbsencesLost,
  }: Pick<TenantFacts, 'tenant' | 'wrongTenant' | 'withheldGroups' | 'areAbsencesLost'>,
  collections: readonly CollectionStatus[],
): Decision[] {
  const foreign = wrongTenant.map((collection) => ({
    collection,
    what: `almost none of the rows that the hub returns for ${collection} match the published ones: check hub.baseUrl and the credentials; nothing is published meanwhile`,
    commands: [`rollcall pull --full --accept-new --tenant ${tenant}`],
    groups: [],
  }));
  const withheld = collections
    .filter(({ withheld }) => withheld > 0)
    .map(({ collection, withheld, withheldBy }) => ({
      collection,
      what: `${countOf(withheld, 'deletion')} of ${collection} ${withheld === 1 ? 'is' : 'are'} withheld: has the hub really lost ${withheld === 1 ? 'this row' : 'these rows'}?`,
      commands:
        withheldBy === 'log'
          ? [`rollcall pull --full --tenant ${tenant} --collection ${collection}`]
          : ['list', 'approve', 'discard'].map(
              (verb) => `rollcall deletes ${verb} --tenant ${tenant} --collection ${collection}`,
            ),
      groups: (withheldGroups?.get(collection) ?? []).map(firstGroups),
    }));
  const unreadable = collections
    .filter(({ lostSchemas }) => lostSchemas.length > 0)
    .map(({ collection, lostSchemas }) => ({
      collection,
      what: `the registry has lost the schema of older records of ${collection} (id ${lostSchemas.join(', ')}): no consumer can read them until they are published again`,
      commands: [`rollcall republish ${collection} --tenant ${tenant}`],
      groups: [],
    }));
  const lost: Decision = {
    collection: 'absence-versions',
    what: 'absences, absence-changes, or both absence-state and the index in Redis are lost: bring back a copy, or let absences begin anew; nothing of them is published meanwhile',
    commands: [`rollcall state rebuild --tenant ${tenant} --collection absences --anew --yes`],
    groups: [],
  };
  return [...(areAbsencesLost === true ? [lost] : []), ...foreign, ...withheld, ...unreadable];
}
