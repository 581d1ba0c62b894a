import { countOf } from '../words.ts';
import type { CollectionName } from '../../model/collections.ts';
import { firstGroups, type FirstGroups } from '../withheld-groups.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantFacts } from './tenant-facts.ts';

/** Something that only a person can decide, with the command that does. */
export interface Decision {
  readonly collections: readonly CollectionName[];
  readonly what: string;
  /** The first command shows more; `<digest>` is what it shows. */
  readonly commands: readonly string[];
  /** Withheld deletions by school, class and date; empty where they are not counted, or not yet. */
  readonly groups: readonly (FirstGroups & { readonly collection: CollectionName })[];
}

/** Everything that is withheld in a tenant is one decision: it has one cause. */
export function decisionsOf(
  {
    tenant,
    wrongTenant,
    withheldGroups,
    areAbsencesLost,
  }: Pick<TenantFacts, 'tenant' | 'wrongTenant' | 'withheldGroups' | 'areAbsencesLost'>,
  statuses: readonly CollectionStatus[],
): Decision[] {
  const foreign = wrongTenant.map((collection) => ({
    collections: [collection],
    what: `almost none of the rows that the hub returns for ${collection} match the published ones: check hub.baseUrl and the credentials; none of them is published`,
    commands: [`rollcall pull --full --accept-new --tenant ${tenant}`],
    groups: [],
  }));
  const unreadable = statuses
    .filter(({ lostSchemas }) => lostSchemas.length > 0)
    .map(({ collection, lostSchemas }) => ({
      collections: [collection],
      what: `the registry has lost the schema of older records of ${collection} (id ${lostSchemas.join(', ')}): no consumer can read them until they are published again`,
      commands: [`rollcall republish ${collection} --tenant ${tenant}`],
      groups: [],
    }));
  const lost: Decision = {
    collections: ['absence-versions'],
    what: 'absences, absence-changes, or both absence-state and the index in Redis are lost: bring back a copy, or let absences begin anew; nothing of them is published meanwhile',
    commands: [`rollcall state rebuild --tenant ${tenant} --collection absences --anew --yes`],
    groups: [],
  };
  const withheld = statuses.filter((each) => each.withheld > 0);
  const count = withheld.reduce((sum, each) => sum + each.withheld, 0);
  const collections = withheld.map(({ collection }) => collection);
  const which = withheld.map((each) => `${each.withheld} of ${each.collection}`).join(', ');
  const held: Decision = {
    collections,
    what: `${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld (${which}): has the hub really lost ${count === 1 ? 'this row' : 'these rows'}?`,
    commands: ['list', 'approve <digest>'].map((words) => `rollcall deletes ${words} --tenant ${tenant}`),
    groups: collections.flatMap((collection) =>
      (withheldGroups?.get(collection) ?? []).map((each) => Object.assign({ collection }, firstGroups(each))),
    ),
  };
  return [
    ...(areAbsencesLost === true ? [lost] : []),
    ...foreign,
    ...(count > 0 ? [held] : []),
    ...unreadable,
  ];
}
