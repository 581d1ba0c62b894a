import { countOf } from '../words.ts';
import type { CollectionStatus } from './collection-status.ts';
import type { KnownContradictions } from './known-contradictions.ts';
import type { HealthPart, NotReady } from './parts.ts';
import type { TenantFacts } from './tenant-facts.ts';

/**
 * - `needs-person`: deletions are withheld, the hub returns another tenant's rows, or the registry has lost a schema
 * - `in-trouble`: the process that mirrors the tenant reports that a part of it is not ready, or there is no such process
 * - `not-mirrored`: nothing is committed
 * - `loading`: not every collection has had a complete full sync
 * - `unfinished`: the last sync of a collection is not complete, and no process continues it
 * - `late`: a collection is older than the configuration promises
 * - `well`
 */
export type TenantState =
  | 'needs-person'
  | 'in-trouble'
  | 'not-mirrored'
  | 'loading'
  | 'unfinished'
  | 'late'
  | 'well';

const MOST_NAMED = 3;
/** Parts of the health that follow from the progress. */
export const COPY_PARTS: ReadonlySet<string> = new Set<HealthPart>(['load', 'full', 'watermark']);

/** The state of a tenant, and a sentence that says why. The worst state counts. */
export function judgeState(
  facts: TenantFacts,
  collections: readonly CollectionStatus[],
): { state: TenantState; headline: string } {
  const suffix = facts.isOwnerAlive === false ? '; no process is running' : '';
  const { notOffered } = facts;
  const missing = notOffered.length === 0 ? '' : `; the hub does not offer ${named([...notOffered])}`;
  if (facts.areAbsencesLost === true) {
    const headline = 'needs a decision: absences are lost, and nothing of them is published (ABSENCES_LOST)';
    return { state: 'needs-person', headline };
  }
  if (facts.wrongTenant.length > 0) {
    const which = named([...facts.wrongTenant]);
    const headline = `needs a decision: almost none of the rows that the hub returns for ${which} match the published ones`;
    return { state: 'needs-person', headline };
  }
  if (collections.some(({ withheld }) => withheld > 0)) {
    return { state: 'needs-person', headline: withheldHeadline(collections) };
  }
  const unreadable = collections.filter(({ lostSchemas }) => lostSchemas.length > 0);
  if (unreadable.length > 0) {
    const which = named(unreadable.map(({ collection }) => collection));
    const headline = `needs a decision: the registry has lost the schema of older records of ${which}`;
    return { state: 'needs-person', headline };
  }
  const [trouble, ...others] = troublesOf(facts);
  if (trouble !== undefined) {
    const more = others.length === 0 ? '' : ` (and ${countOf(others.length, 'other reason')})`;
    // A running process reports this, even one that does not own the tenant at present.
    return { state: 'in-trouble', headline: `in trouble: ${trouble.part}: ${trouble.why}${more}` };
  }
  const isRunning = facts.collections.some(({ running }) => running !== undefined);
  if (!isRunning && collections.every(({ sync }) => sync === null)) {
    return { state: 'not-mirrored', headline: notMirrored(facts, collections, suffix) };
  }
  const { expected, incomplete } = incompleteCollections(collections);
  if (incomplete.length > 0) {
    const done = expected - incomplete.length;
    const which = named(incomplete.map(({ collection }) => collection));
    const stuck = incomplete.some(({ unfinished }) => unfinished) ? '; a last sync did not end' : '';
    return {
      state: 'loading',
      headline: `first load: ${done} of ${expected} collections are complete, not yet ${which}${stuck}${missing}${suffix}`,
    };
  }
  const unfinished = collections.filter((each) => each.unfinished);
  if (unfinished.length > 0) {
    const which = named(unfinished.map(({ collection }) => collection));
    return { state: 'unfinished', headline: `not complete: the last sync of ${which}${suffix}` };
  }
  const late = collections.filter((each) => each.late !== null);
  const [first] = late;
  if (first !== undefined) {
    const others = late.length === 1 ? '' : ` (and ${countOf(late.length - 1, 'other')})`;
    return { state: 'late', headline: `late: ${first.collection}: ${first.late}${others}${suffix}` };
  }
  const rejected = collections.reduce((sum, each) => sum + each.rejected, 0);
  const rejects = rejected === 0 ? '' : `, ${countOf(rejected, 'row')} rejected`;
  const { contradictions } = facts;
  const contradictory =
    contradictions === null || contradictions.absences === 0
      ? ''
      : `, ${contradictoryAbsences(contradictions)}`;
  const notes = `${rejects}${contradictory}${missing}`;
  return facts.isOwnerAlive === false
    ? { state: 'in-trouble', headline: `no process is running: changes at the hub are not published${notes}` }
    : { state: 'well', headline: `all well${notes}` };
}

/**
 * The troubles that the process reports, causes before consequences. The lateness of the copy follows from the progress
 * instead.
 */
function troublesOf({ reported = [] }: TenantFacts): readonly NotReady[] {
  const causes = reported.filter(({ part }) => !COPY_PARTS.has(part) && part !== 'pipeline');
  return causes.length > 0 ? causes : reported.filter(({ part }) => part === 'pipeline');
}

function notMirrored(
  { owner }: TenantFacts,
  collections: readonly CollectionStatus[],
  suffix: string,
): string {
  if (collections.length > 0 && collections.every(({ isNotOffered }) => isNotOffered)) {
    return `the hub offers none of the collections: check hub.baseUrl${suffix}`;
  }
  return owner === null ? 'not mirrored yet' : `taken over, but nothing is mirrored yet${suffix}`;
}

/**
 * The collections without a complete full sync. A derived collection counts only if its source is complete, as after
 * the derived one was enabled, or its topic was lost.
 */
export function incompleteCollections(collections: readonly CollectionStatus[]): {
  expected: number;
  incomplete: readonly CollectionStatus[];
} {
  const offered = collections.filter(({ isNotOffered }) => !isNotOffered);
  const incomplete = offered.filter(({ lastCompleteFullMs }) => lastCompleteFullMs === null);
  const names = new Set(incomplete.map(({ collection }) => collection));
  const isSourceIncomplete = ({ derivedFrom }: CollectionStatus): boolean =>
    derivedFrom !== null && names.has(derivedFrom);
  return {
    expected: offered.filter((each) => !isSourceIncomplete(each)).length,
    incomplete: incomplete.filter((each) => !isSourceIncomplete(each)),
  };
}

/** `3 contradictory absences`, `at least 5,000 contradictory absences`. */
export function contradictoryAbsences({ absences, isAtLeast }: KnownContradictions): string {
  return `${isAtLeast ? 'at least ' : ''}${countOf(absences, 'contradictory absence')}`;
}

function withheldHeadline(collections: readonly CollectionStatus[]): string {
  const withheld = collections.filter((each) => each.withheld > 0);
  const count = withheld.reduce((sum, each) => sum + each.withheld, 0);
  const where = named(withheld.map(({ collection }) => collection));
  return `needs a decision: ${countOf(count, 'deletion')} ${count === 1 ? 'is' : 'are'} withheld in ${where}`;
}

export function named(names: readonly string[]): string {
  if (names.length <= MOST_NAMED) return names.join(', ');
  return `${names.slice(0, MOST_NAMED).join(', ')} and ${names.length - MOST_NAMED} more`;
}
