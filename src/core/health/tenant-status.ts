import { countOf, printable } from '../words.ts';
import { collectionStatus, type CollectionStatus } from './collection-status.ts';
import { decisionsOf, named, type Decision } from './decisions.ts';
import type { NotReady, TenantFacts } from './tenant-facts.ts';

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

export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  readonly headline: string;
  /** Why the tenant is not ready; empty when it is. */
  readonly reasons: readonly NotReady[];
  readonly decisions: readonly Decision[];
  readonly owner: TenantFacts['owner'];
  readonly isOwnerAlive: boolean | null;
  /** Hub clock minus ours, ms. */
  readonly hubSkewMs: number;
  readonly collections: readonly CollectionStatus[];
  readonly wrongTenant: TenantFacts['wrongTenant'];
  readonly contradictions: number | null;
}

/** The health of a tenant: `status`, `/readyz`, `/status.json`, the page and the metrics all answer from it. Pure. */
export function tenantStatus(facts: TenantFacts): TenantStatus {
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const decisions = decisionsOf(facts, collections);
  const { tenant, owner, isOwnerAlive, wrongTenant, contradictions } = facts;
  const reported = (facts.reported ?? []).map(bounded);
  const ownerless = isOwnerAlive === false && !reported.some(saysWhyNotOwned) ? [noOwner(tenant)] : [];
  return {
    tenant,
    ...judgeState({ ...facts, reported }, collections, decisions),
    reasons: [...reported, ...ownerless, ...copyReasons(tenant, collections)],
    decisions,
    owner,
    isOwnerAlive,
    hubSkewMs: facts.hubSkewMs ?? 0,
    collections,
    wrongTenant,
    contradictions,
  };
}

const LONGEST_TEXT = 500;

/** Messages of services are of any length, and each heartbeat holds the status. */
function bounded(reason: NotReady): NotReady {
  const cut = (text: string): string =>
    printable(text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text);
  return { ...reason, why: cut(reason.why), remedy: cut(reason.remedy) };
}

/** A process that is about to own the tenant, or has lost it, says so itself. */
function saysWhyNotOwned({ part }: NotReady): boolean {
  return part === 'failed' || part === 'pipeline' || part === 'owner';
}

function noOwner(tenant: string): NotReady {
  return {
    part: 'owner',
    tenant,
    why: 'no process mirrors the tenant',
    remedy:
      'Start "rollcall run"; if it should be running, see why it ended: its log, or "kubectl logs --previous".',
  };
}

/** Why the copy itself is not what the configuration promises, although every part may work. */
function copyReasons(tenant: string, collections: readonly CollectionStatus[]): NotReady[] {
  const reasons: NotReady[] = [];
  const { incomplete } = incompleteCollections(collections);
  if (incomplete.length > 0) {
    reasons.push({
      part: 'load',
      tenant,
      why: `never loaded completely: ${named(incomplete.map(({ collection }) => collection))}`,
      remedy: 'Wait for the first load; the status page and the log show how far it is.',
    });
  }
  for (const part of ['full', 'watermark'] as const) {
    const late = collections.filter(({ lateBy }) => lateBy === part);
    const [first] = late;
    if (first === undefined) continue;
    const which = named(late.map(({ collection }) => collection));
    reasons.push({
      part,
      tenant,
      why: `${which}: ${first.late ?? ''}`,
      remedy: 'The log says why the syncs fail; "rollcall pull" reads again at once.',
    });
  }
  return reasons;
}

/** The state of a tenant, and a sentence that says why. The worst state counts. */
function judgeState(
  facts: TenantFacts,
  collections: readonly CollectionStatus[],
  decisions: readonly Decision[],
): Pick<TenantStatus, 'state' | 'headline'> {
  const suffix = facts.isOwnerAlive === false ? '; no process is running' : '';
  const { notOffered } = facts;
  const missing = notOffered.length === 0 ? '' : `; the hub does not offer ${named([...notOffered])}`;
  const [decision] = decisions;
  if (decision !== undefined) {
    return { state: 'needs-person', headline: `needs a decision: ${decision.what.replace(/:.*/, '')}` };
  }
  const [trouble, ...others] = troublesOf(facts);
  if (trouble !== undefined) {
    const more = others.length === 0 ? '' : ` (and ${countOf(others.length, 'other reason')})`;
    if (trouble.part === 'failed') return { state: 'in-trouble', headline: `failed: ${trouble.why}${more}` };
    // A running process reports this, even one that does not own the tenant at present.
    return { state: 'in-trouble', headline: `in trouble: ${trouble.part}: ${trouble.why}${more}` };
  }
  const isRunning = facts.collections.some(({ running }) => running !== null);
  if (!isRunning && collections.every(({ sync }) => sync === null)) {
    return { state: 'not-mirrored', headline: notMirrored(facts, collections, suffix) };
  }
  const rejected = collections.reduce((sum, each) => sum + each.rejected, 0);
  const rejects = rejected === 0 ? '' : `, ${countOf(rejected, 'row')} rejected`;
  const { contradictions } = facts;
  const contradictory = contradictions ? `, ${countOf(contradictions, 'contradictory absence')}` : '';
  const notes = `${rejects}${contradictory}${missing}`;
  const unfinished = named(collections.filter((each) => each.unfinished).map(({ collection }) => collection));
  if (facts.isOwnerAlive === false && unfinished === '')
    return {
      state: 'in-trouble',
      headline: `no process is running: changes at the hub are not published${notes}`,
    };
  const { expected, incomplete } = incompleteCollections(collections);
  if (facts.isOwnerAlive !== false && incomplete.length > 0) {
    const done = expected - incomplete.length;
    const which = named(incomplete.map(({ collection }) => collection));
    return {
      state: 'loading',
      headline: `first load: ${done} of ${expected} collections are complete, not yet ${which}${missing}`,
    };
  }
  if (unfinished !== '')
    return { state: 'unfinished', headline: `not complete: the last sync of ${unfinished}${suffix}` };
  const late = collections.filter((each) => each.late !== null);
  const [first] = late;
  if (first !== undefined) {
    const others = late.length === 1 ? '' : ` (and ${countOf(late.length - 1, 'other')})`;
    return { state: 'late', headline: `late: ${first.collection}: ${first.late}${others}` };
  }
  return { state: 'well', headline: `all well${notes}` };
}

/** The troubles that the process reports, causes before consequences. */
function troublesOf({ reported = [] }: TenantFacts): readonly NotReady[] {
  const causes = reported
    .filter(({ part }) => part !== 'pipeline')
    .toSorted((one, other) => Number(other.part === 'failed') - Number(one.part === 'failed'));
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
function incompleteCollections(collections: readonly CollectionStatus[]): {
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
