import { countOf, forHow, formatCount, isoOrNull, printable } from '../words.ts';
import { collectionStatus, type CollectionStatus } from './collection-status.ts';
import { decisionsOf, named, type Decision } from './decisions.ts';
import { firstLoad } from './first-load.ts';
import { TENANT_PARTS, type HealthPart } from './tenant-facts.ts';
import type { NotReady, OwnerHeartbeat, TenantFacts } from './tenant-facts.ts';

/**
 * - `in-trouble`, before all else, if nothing can be published: the tenant has failed, or a service cannot be reached
 * - `needs-person`: a person must decide something
 * - the others follow from the first reason: `starting` (a process is taking the tenant over, or has not had an answer
 * from the hub yet), `loading` (not every collection has had a complete full sync), `late` (a collection is older than
 * the configuration promises, or its removals wait), `in-trouble` (any other), `well` (none)
 */
export type TenantState = (typeof GRAVEST)[number];
const GRAVEST = ['needs-person', 'in-trouble', 'late', 'starting', 'loading', 'well'] as const;

const STATES: Partial<Record<HealthPart, TenantState>> = {
  start: 'starting',
  load: 'loading',
  full: 'late',
  watermark: 'late',
  removals: 'late',
};

/** As `/status.json`, the heartbeat and `status --json` give it; times are ISO 8601. */
export interface TenantStatus {
  readonly tenant: string;
  readonly state: TenantState;
  /** The gravest thing to say of the tenant: what stops everything, else the first decision, else the first reason. */
  readonly headline: string;
  readonly ready: boolean;
  readonly needsPerson: boolean;
  /** How far the first load has got; null in any other state. */
  readonly firstLoad: string | null;
  /** Why the tenant is not well, the gravest first, and causes before consequences. Not every reason makes it unready. */
  readonly reasons: readonly NotReady[];
  readonly decisions: readonly Decision[];
  readonly owner: { readonly owner: string; readonly since: string | null } | null;
  readonly isOwnerAlive: boolean | null;
  readonly hubClockAheadMs: number;
  readonly collections: readonly CollectionStatus[];
  readonly contradictions: number | null;
}

/** The facts that are assumed where neither the tenant's log nor a heartbeat tells them. */
export const UNKNOWN: Omit<TenantFacts, 'tenant' | 'nowMs'> = {
  incrementalOverlapMs: 0,
  collections: [],
  owner: null,
  isOwnerAlive: null,
  notOffered: [],
  contradictions: null,
};

/** The health of a tenant: `status`, `/readyz`, `/status.json`, the page and the metrics all answer from it. Pure. */
export function tenantStatus(facts: TenantFacts): TenantStatus {
  const { tenant, owner, isOwnerAlive, contradictions, nowMs } = facts;
  const collections = facts.collections.map((each) => collectionStatus(each, facts));
  const decisions = decisionsOf(facts, collections);
  const reasons = reasonsOf(facts, collections, decisions);
  const [decision] = decisions;
  const [reason] = reasons;
  const said = reason ? `${reason.part}: ${reason.why}${forHow(reason.since, nowMs)}` : 'all well';
  const asked = isStopped({ reasons }) ? undefined : decision;
  const state = asked ? 'needs-person' : reason ? (STATES[reason.part] ?? 'in-trouble') : 'well';
  return {
    tenant,
    state,
    headline: asked
      ? `needs a decision: ${asked.what}${forHow(asked.since, nowMs)}`
      : `${said}${notes(facts, collections)}${decision ? `; needs a decision: ${decision.what}` : ''}`,
    ready: reasons.every(({ part }) => PARTS_OF_COLLECTIONS.has(part)),
    needsPerson: decisions.length > 0,
    firstLoad: state === 'loading' ? firstLoad(collections) : null,
    reasons,
    decisions,
    owner: owner && { owner: owner.owner, since: isoOrNull(owner.ownedSinceMs || null) },
    isOwnerAlive,
    hubClockAheadMs: Math.round(facts.hubSkewMs ?? 0),
    collections,
    contradictions,
  };
}

/** If only these parts are not well, only some collections are in trouble, and the tenant is ready nevertheless. */
const PARTS_OF_COLLECTIONS: ReadonlySet<HealthPart> = new Set(['collection', 'rejects', 'removals']);

/** Facts that are worth knowing, but no reason why the tenant is not well. */
function notes(
  { contradictions, notOffered }: TenantFacts,
  collections: readonly CollectionStatus[],
): string {
  const rejected = collections.reduce((sum, each) => sum + each.rejected, 0);
  const rejects = rejected === 0 ? '' : `, ${countOf(rejected, 'row')} rejected`;
  const contradictory = contradictions ? `, ${countOf(contradictions, 'contradictory absence')}` : '';
  const missing = notOffered.length === 0 ? '' : `; the hub does not offer ${named(notOffered)}`;
  return `${rejects}${contradictory}${missing}`;
}

/** If a process reports one of these parts, the report says why the process does not own the tenant. */
const WHY_NOT_OWNED: ReadonlySet<HealthPart> = new Set(['failed', 'pipeline', 'start', 'owner']);

/** While one of the parts before `start` is not well, nothing of the tenant is published. */
const STOPS_ALL: ReadonlySet<HealthPart> = new Set(TENANT_PARTS.slice(0, TENANT_PARTS.indexOf('start')));

/** Nothing is published: that is graver than what waits for a person, and often ends by itself. */
function isStopped({ reasons: [first] }: Pick<TenantStatus, 'reasons'>): boolean {
  return first !== undefined && STOPS_ALL.has(first.part);
}

/** Whether something is wrong or late, even if a decision determines the state of the tenant. */
export function isInTrouble({ reasons }: Pick<TenantStatus, 'reasons'>): boolean {
  return reasons.some(({ part }) => ['in-trouble', 'late'].includes(STATES[part] ?? 'in-trouble'));
}

function reasonsOf(
  { reported = [], isOwnerAlive }: TenantFacts,
  collections: readonly CollectionStatus[],
  decisions: readonly Decision[],
): NotReady[] {
  // A process that does not mirror the tenant, or that has only begun to, may not know what the log of the tenant has.
  const isReported = reported.some(({ part }) => WHY_NOT_OWNED.has(part));
  const noOwner = isOwnerAlive === false && !isReported ? [NO_OWNER] : [];
  // A collection that waits for a decision does not count as never loaded.
  const undecided = new Set(decisions.flatMap((each) => each.collections));
  const loads = (each: CollectionStatus): boolean => !undecided.has(each.derivedFrom ?? each.collection);
  const all = [...reported, ...noOwner, ...(isReported ? [] : notLoaded(collections.filter(loads)))];
  const order: readonly HealthPart[] = TENANT_PARTS;
  const isHubKnown = all.some(({ part }) => part === 'hub');
  return [...all, ...ofCollections(collections, isHubKnown)]
    .toSorted((one, other) => order.indexOf(one.part) - order.indexOf(other.part))
    .map(bounded);
}

const LONGEST_TEXT = 500;

/** Cuts long texts, because messages of services may be of any length, and each heartbeat holds the status. */
export function bounded<R extends Pick<NotReady, 'why' | 'remedy'>>(reason: R): R {
  const cut = (text: string): string =>
    printable(text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text);
  return { ...reason, why: cut(reason.why), remedy: cut(reason.remedy) };
}

const NO_OWNER: NotReady = {
  part: 'owner',
  why: 'no process mirrors the tenant',
  remedy:
    'Start "rollcall run". If it should be running, "rollcall help RollcallOwnerMissing" says how to find out why it ended.',
};

/**
 * The tenants, beginning with those of which nothing is published, then in the order of their state; and how many are
 * in each state: `300 tenants: 1 needing a person, 2 in trouble, 6 loading, 291 well`.
 */
export function overviewOf<T extends Pick<TenantStatus, 'state' | 'reasons'>>(tenants: readonly T[]) {
  const counts = GRAVEST.flatMap((state) => {
    const count = tenants.filter((each) => each.state === state).length;
    const words = state.replace('needs-', 'needing a ').replace('-', ' ');
    return count === 0 ? [] : [`${formatCount(count)} ${words}`];
  });
  const [total, each] = [countOf(tenants.length, 'tenant'), counts.join(', ')];
  const rankOf = (one: T): number => (isStopped(one) ? -1 : GRAVEST.indexOf(one.state));
  const summary = each === '' ? total : `${total}: ${each}`;
  return { summary, tenants: tenants.toSorted((one, other) => rankOf(one) - rankOf(other)) };
}

/** The facts about a tenant that are in its heartbeat. */
export interface Heard extends Partial<Pick<TenantFacts, 'owner' | 'isOwnerAlive' | 'reported'>> {
  /** Left out if the owner reports none, or has another version. `collections` is empty if this fact was not read. */
  readonly health?: TenantStatus;
  readonly note?: Pick<NotReady, 'why' | 'remedy'> | null;
}

/** `own`: the version of this program. The health that another version wrote may have another form. */
export function heardOf(living: OwnerHeartbeat | null, own: string): Heard {
  if (living === null) return { isOwnerAlive: false };
  const { version = own, health, collections = '[]', note = 'null' } = living.info;
  if (health !== undefined && version === own)
    return { health: { ...parsed(health), collections: parsed(collections) }, note: parsed(note) };
  const why =
    version === own
      ? 'its owner does not report its health: a command is working on the tenant, or the tenant is moving to another process'
      : `a process of version ${printable(version)} mirrors the tenant, but this program is version ${own}`;
  const remedy =
    'Wait a few seconds. For a process of another version, run "rollcall status" with that version, or look at its status page.';
  return { owner: living, isOwnerAlive: true, reported: [{ part: 'owner', why, remedy }] };
}

function parsed(text: string) {
  return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? printable(value) : value));
}

const LOAD_REMEDY =
  'Wait: "rollcall status", the status page and the log say how far the load has got. If topics have lost records, "rollcall help KAFKA_RECORDS_LOST" says what to do meanwhile.';

/** The collections without a complete full sync, derived ones only if their source has had one. */
function notLoaded(collections: readonly CollectionStatus[]): NotReady[] {
  const offered = collections.filter(({ isNotOffered }) => !isNotOffered);
  if (collections.length > 0 && offered.length === 0)
    return [{ part: 'load', why: 'the hub offers none of the collections', remedy: 'Check hub.baseUrl.' }];
  const lacking = offered.filter(({ lastCompleteFull }) => lastCompleteFull === null);
  const names = new Set(lacking.map(({ collection }) => collection));
  const ofOwn = lacking.filter(({ derivedFrom }) => derivedFrom === null || !names.has(derivedFrom));
  if (ofOwn.length === 0) return [];
  const why = `not loaded completely: ${named(ofOwn.map(({ collection }) => collection))}`;
  return [{ part: 'load', why, remedy: LOAD_REMEDY }];
}

/**
 * What is wrong with single collections: one reason for each part, in the words of the first one. If the syncs of all
 * collections that have incremental syncs fail, this is a failure of the hub. While the hub is already known to have
 * failed, no reason says that syncs fail, because they fail for that reason.
 */
function ofCollections(collections: readonly CollectionStatus[], isHubKnown: boolean): NotReady[] {
  const reasons = collections.flatMap(({ collection, trouble, late }) =>
    [trouble, late].flatMap((reason) => (reason === null ? [] : [{ collection, reason }])),
  );
  const asked = collections.filter(
    (each) => each.hasIncremental && each.derivedFrom === null && !each.isNotOffered,
  );
  const isHub = asked.length > 0 && asked.every(({ trouble }) => trouble?.part === 'collection');
  return [...Map.groupBy(reasons, ({ reason }) => reason.part)].flatMap(([part, [first, ...others]]) => {
    if (first === undefined || (part === 'collection' && isHubKnown)) return [];
    const names = named([first, ...others].map(({ collection }) => collection));
    const why = `${names}: ${first.reason.why}`;
    return [{ ...first.reason, part: part === 'collection' && isHub ? 'hub' : part, why }];
  });
}
