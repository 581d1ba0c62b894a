import { countOf, isoOrNull } from '../words.ts';
import type { CollectionName } from '../../model/collections.ts';
import { foreignSince, type Progress } from '../../model/progress.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { TenantFacts } from './tenant-facts.ts';

/** What to do first about another tenant's data, in the words that all outputs share; {@link acceptCommand} follows. */
export const WRONG_TENANT_REMEDY =
  'Check hub.baseUrl and the credentials; only if the data was replaced on purpose, run';

export function acceptCommand(tenant: string): string {
  return `rollcall pull --full --accept-new --tenant ${tenant}`;
}

/** Something that only a person can decide, with the commands for it. */
export interface Decision {
  /** The kind of the decision: the code of the error, if there is one. */
  readonly code: 'ABSENCES_LOST' | 'HUB_FOREIGN_DATA' | 'ROWS_ON_HOLD' | 'SCHEMA_LOST';
  readonly collections: readonly CollectionName[];
  readonly what: string;
  /** ISO 8601; null or left out: not known. */
  readonly since?: string | null;
  /** What to decide, and what to look at first. */
  readonly question: string;
  /** Where rows are on hold, the command shows their parts, and prints the commands that approve them. */
  readonly commands: readonly string[];
}

/** One decision for each cause, the gravest first. */
export function decisionsOf(
  facts: Pick<TenantFacts, 'tenant' | 'areAbsencesLost' | 'collections'>,
  statuses: readonly CollectionStatus[],
): Decision[] {
  const { tenant, areAbsencesLost, collections } = facts;
  const foreign = collections.flatMap((each) =>
    foreignSince(each.progress) === null ? [] : [each.collection],
  );
  const onHold = statuses.filter((each) => each.rowsOnHold > 0).map(({ collection }) => collection);
  const count = statuses.reduce((sum, each) => sum + each.rowsOnHold, 0);
  const unreadable = statuses.flatMap((each) => (each.lostSchemas.length > 0 ? [each.collection] : []));
  const decisions: Decision[] = [
    {
      code: 'ABSENCES_LOST',
      collections: areAbsencesLost === true ? ['absence-versions'] : [],
      what: 'absences are lost, and Rollcall publishes no absences (ABSENCES_LOST)',
      question:
        'If you have a copy, bring back both absences and absence-changes, and also absence-state (or the index in Redis). Otherwise stop all processes, run this command, and start them again: Rollcall then loads all absences again',
      commands: [`rollcall topics recreate absences --tenant ${tenant} --yes`],
    },
    {
      code: 'HUB_FOREIGN_DATA',
      collections: foreign,
      what: `almost none of the rows that the hub returns for ${named(foreign)} match the published ones (HUB_FOREIGN_DATA)`,
      since: oldest(collections, foreignSince),
      question: `None of them is published. ${WRONG_TENANT_REMEDY}`,
      commands: [acceptCommand(tenant)],
    },
    {
      code: 'ROWS_ON_HOLD',
      collections: onHold,
      what: rowsOnHold(count, onHold),
      since: oldest(collections, (progress) => progress?.deletions?.onHoldSinceMs ?? null),
      question:
        foreign.length > 0
          ? `First find out whose rows the hub returns for ${named(foreign)}, because no deletion can be approved before that is decided. This command lists the rows on hold`
          : 'Run this first: it lists what is missing, from which schools, since when and why, and prints the command that approves each part (run that one only if the rows are really gone)',
      commands: [`rollcall deletes list --tenant ${tenant}`],
    },
    {
      code: 'SCHEMA_LOST',
      collections: unreadable,
      what: `the registry has lost the schema of older records of ${named(unreadable)} (SCHEMA_LOST)`,
      question: 'No consumer can read them until they are published again',
      commands: unreadable.map((collection) => `rollcall republish ${collection} --tenant ${tenant}`),
    },
  ];
  return decisions.filter(({ collections }) => collections.length > 0);
}

/** `136 rows are on hold in users` */
export function rowsOnHold(count: number, collections: readonly string[]): string {
  return `${countOf(count, 'row')} ${count === 1 ? 'is' : 'are'} on hold in ${named(collections)}`;
}

/** The earliest of these times of the collections, ISO 8601; null: there is none. */
function oldest(collections: TenantFacts['collections'], sinceMs: (of: Progress | null) => number | null) {
  const times = collections.flatMap(({ progress }) => sinceMs(progress) ?? []);
  return times.length === 0 ? null : isoOrNull(Math.min(...times));
}

const MOST_NAMED = 3;

export function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
