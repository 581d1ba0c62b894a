import { countOf } from '../words.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantFacts } from './tenant-facts.ts';

/** Something that only a person can decide, with the command that does. */
export interface Decision {
  readonly collections: readonly CollectionName[];
  /** What is wrong, a colon, and what to decide. */
  readonly what: string;
  /** Where rows are withheld, the first command shows more; `<digest>` is what it shows. */
  readonly commands: readonly string[];
}

/** One decision for each cause, the gravest first. */
export function decisionsOf(
  facts: Pick<TenantFacts, 'tenant' | 'wrongTenant' | 'areAbsencesLost'>,
  statuses: readonly CollectionStatus[],
): Decision[] {
  const { tenant, wrongTenant, areAbsencesLost } = facts;
  const withheld = statuses.filter((each) => each.withheld > 0).map(({ collection }) => collection);
  const count = statuses.reduce((sum, each) => sum + each.withheld, 0);
  const unreadable = statuses.flatMap((each) => (each.lostSchemas.length > 0 ? [each.collection] : []));
  const decisions: Decision[] = [
    {
      collections: areAbsencesLost === true ? ['absence-versions'] : [],
      what: 'absences are lost, and nothing of them is published (ABSENCES_LOST): bring back a copy of absences, absence-changes, and absence-state or the index in Redis, or let absences begin anew',
      commands: [`rollcall state rebuild --tenant ${tenant} --collection absences --anew --yes`],
    },
    {
      collections: wrongTenant,
      what: `almost none of the rows that the hub returns for ${named(wrongTenant)} match the published ones: check hub.baseUrl and the credentials; none of them is published`,
      commands: [`rollcall pull --full --accept-new --tenant ${tenant}`],
    },
    {
      collections: withheld,
      what: `${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld in ${named(withheld)}: has the hub really lost ${count === 1 ? 'this row' : 'these rows'}?`,
      commands: ['list', 'approve <digest>'].map((words) => `rollcall deletes ${words} --tenant ${tenant}`),
    },
    {
      collections: unreadable,
      what: `the registry has lost the schema of older records of ${named(unreadable)}: no consumer can read them until they are published again`,
      commands: unreadable.map((collection) => `rollcall republish ${collection} --tenant ${tenant}`),
    },
  ];
  return decisions.filter(({ collections }) => collections.length > 0);
}

const MOST_NAMED = 3;

export function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
