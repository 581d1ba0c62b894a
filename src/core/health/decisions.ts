import { countOf } from '../words.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantFacts } from './tenant-facts.ts';

/** What comes first at another tenant's data, in the words of every surface; {@link acceptCommand} follows. */
export const WRONG_TENANT_REMEDY =
  'Check hub.baseUrl and the credentials; only if the data was replaced on purpose, run';

export function acceptCommand(tenant: string): string {
  return `rollcall pull --full --accept-new --tenant ${tenant}`;
}

/** Something that only a person can decide, with the command that does. */
export interface Decision {
  readonly collections: readonly CollectionName[];
  readonly what: string;
  /** What to decide, and so to look at first. */
  readonly question: string;
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
      what: 'absences are lost, and nothing of them is published (ABSENCES_LOST)',
      question:
        'Bring back a copy of absences, absence-changes, and absence-state or the index in Redis, or let absences begin anew',
      commands: [`rollcall state rebuild --tenant ${tenant} --collection absences --anew --yes`],
    },
    {
      collections: wrongTenant,
      what: `almost none of the rows that the hub returns for ${named(wrongTenant)} match the published ones`,
      question: `None of them is published. ${WRONG_TENANT_REMEDY}`,
      commands: [acceptCommand(tenant)],
    },
    {
      collections: withheld,
      what: `${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld in ${named(withheld)}`,
      question: `Look first; only if the hub has really lost ${count === 1 ? 'this row' : 'these rows'}, approve`,
      commands: ['list', 'approve <digest>'].map((words) => `rollcall deletes ${words} --tenant ${tenant}`),
    },
    {
      collections: unreadable,
      what: `the registry has lost the schema of older records of ${named(unreadable)}`,
      question: 'No consumer can read them until they are published again',
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
