import { collectionSettings, enabledCollections, type TenantConfig } from '../config.ts';
import { SHORT_REMEDY } from '../core/deletions/evidence.ts';
import { ApiWatch } from '../core/health/api-watch.ts';
import type { HealthPart, NotReady, TenantFacts } from '../core/health/tenant-facts.ts';
import { tenantStatus, type TenantStatus } from '../core/health/tenant-status.ts';
import { isFromHub, isOfOneCollection, RollcallError, type ErrorSource } from '../errors.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { HubEvent } from '../core/hub-events.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { CollectionMonitor } from './collection-monitor.ts';

type Reason = Pick<NotReady, 'why' | 'remedy'>;

/** A commit that waited for no quota. */
const FAST_MS = 1_000;
const THROTTLED: Reason = {
  why: 'throttled by the broker: requests wait for the quota of this user or client id',
  remedy: 'Raise its producer_byte_rate (kafka-configs), or wait: Rollcall goes on, as fast as it may.',
};
const PART_OF: Readonly<Record<ErrorSource, HealthPart>> = {
  hub: 'hub',
  log: 'kafka',
  registry: 'registry',
  index: 'redis',
  owner: 'owner',
  command: 'pipeline',
  program: 'pipeline',
};

/** Notes the events of a tenant, and judges its health from them at any time. */
export class TenantMonitor {
  readonly tenant: string;
  readonly #deltaOverlapMs: number;
  readonly #now: () => number;
  readonly #collections: ReadonlyMap<CollectionName, CollectionMonitor>;
  readonly #oneRoster = new ApiWatch('the hub');
  /** It may fail alone. */
  readonly #core = new ApiWatch('the Core API (schedules)');
  /** What an event or a watch reported, by part. */
  readonly #reported = new Map<HealthPart, NotReady>();
  #owner: TenantFacts['owner'] = null;
  isOwner = false;
  /** Number of contradictory absences; null where absences are not mirrored. */
  contradictions: number | null = null;
  #hubSkewMs = 0;

  constructor(config: TenantConfig, now: () => number) {
    this.tenant = config.id;
    this.#deltaOverlapMs = config.deltaOverlapMs;
    this.#now = now;
    this.#collections = new Map(
      enabledCollections(config).map(({ name, keyset }) => {
        const { deltaEveryMs, fullPull } = collectionSettings(config, name);
        const settings = { collection: name, hasIncremental: keyset, deltaEveryMs, fullPull };
        return [name, new CollectionMonitor(settings)];
      }),
    );
  }

  /** Sets why a part is not ready, in place of the reason before; null: it is ready again. Returns whether that is new. */
  report(part: HealthPart, reason: Reason | null): boolean {
    if (reason === null) return this.#reported.delete(part);
    const before = this.#reported.get(part);
    this.#reported.set(part, { part, ...reason });
    return before?.why !== reason.why;
  }

  /** Returns whether an event that reports a trouble is news. */
  note(event: PipelineEvent): boolean {
    const nowMs = this.#now();
    if ('collection' in event) this.#collections.get(event.collection)?.note(event, nowMs);
    switch (event.type) {
      case 'hub':
        this.#apiOf(event.event).note(event.event, nowMs);
        if (event.event.type === 'request-done' && event.event.target !== 'token') this.#hubAnswers();
        return true;
      case 'owned':
        this.#owner = { owner: event.owner, ownedSinceMs: nowMs };
        this.isOwner = true;
        for (const part of ['kafka', 'registry', 'redis', 'owner'] as const) this.report(part, null);
        return true;
      case 'session-opened':
        for (const part of ['pipeline', 'failed'] as const) this.report(part, null);
        return true;
      case 'session-failed':
        return this.#noteFailedSession(event.error);
      case 'tenant-failed':
        return this.#noteFailure(event.error);
      case 'throttled':
        return this.report('quota', THROTTLED);
      case 'topics-compared':
        return this.report('kafka', event.mismatch && reasonOf(event.mismatch));
      case 'caught-up':
        this.contradictions = event.contradictions ?? this.contradictions;
        this.#noteDerived(event.derived);
        return true;
      case 'absences-published':
        this.contradictions = event.contradictions ?? this.contradictions;
        return true;
      case 'committed':
        if (event.durationMs < FAST_MS) this.report('quota', null);
        return true;
      case 'sync-ended':
        this.#hubSkewMs = event.stats.startedAtMs - (nowMs - event.durationMs);
        this.#noteDerived(event.derived);
        this.#hubAnswers();
        // One student whom the hub never answers is a reject, and no failure of the API.
        if (event.collection === 'schedules' && event.outcome === 'complete') this.#core.forget();
        return true;
      case 'sync-failed':
        if (isFromHub(event.error)) return this.report('hub', reasonOf(event.error));
        // Any other one ends the session, which reports it.
        return isOfOneCollection(event.error);
      case 'not-offered':
        // One missing collection is harmless; but if no other has answered, the address is wrong.
        if (this.#reported.has('hub')) this.report('hub', reasonOf(event.error));
        return true;
      default:
        return true;
    }
  }

  status(): TenantStatus {
    const nowMs = this.#now();
    const { tenant } = this;
    const reported = this.#reported.values();
    const ofHub = this.#reported.has('hub')
      ? []
      : [...this.#oneRoster.reasons(nowMs), ...this.#core.reasons(nowMs)];
    return tenantStatus({
      tenant,
      deltaOverlapMs: this.#deltaOverlapMs,
      collections: [...this.#collections.values()].map((each) => each.facts()),
      owner: this.#owner,
      isOwnerAlive: this.isOwner,
      notOffered: this.#names(({ isNotOffered }) => isNotOffered),
      wrongTenant: this.#names(({ isWrongTenant }) => isWrongTenant),
      areAbsencesLost: this.#names(({ isLost }) => isLost).length > 0,
      contradictions: this.contradictions,
      hubSkewMs: this.#hubSkewMs,
      reported: [...reported, ...ofHub, ...this.#shortScans()],
      nowMs,
    });
  }

  #apiOf(event: HubEvent): ApiWatch {
    return 'target' in event && event.target === 'schedules' ? this.#core : this.#oneRoster;
  }

  live(collection: CollectionName): CollectionMonitor {
    const known = this.#collections.get(collection);
    if (known === undefined) throw new TypeError(`${this.tenant} does not mirror ${collection}`);
    return known;
  }

  #noteFailedSession(error: unknown): boolean {
    this.#sessionEnded();
    const reason = reasonOf(error);
    const part = error instanceof RollcallError ? PART_OF[error.source] : 'pipeline';
    const isNews = this.report(part, reason);
    this.report('pipeline', { why: 'the tenant is currently not mirrored', remedy: reason.remedy });
    return isNews;
  }

  #sessionEnded(): void {
    this.isOwner = false;
    for (const api of [this.#oneRoster, this.#core]) api.forget();
    for (const each of this.#collections.values()) each.endSyncs();
  }

  /** A tenant that needs a person has no other reason: nothing else of it is tried. */
  #noteFailure({ code, message, remedy }: RollcallError): boolean {
    this.#sessionEnded();
    for (const part of this.#reported.keys()) if (part !== 'failed') this.report(part, null);
    return this.report('failed', { why: `${code}: ${message}`, remedy });
  }

  #noteDerived(derived: readonly Progress[] | undefined): void {
    for (const progress of derived ?? []) this.#collections.get(progress.collection)?.setProgress(progress);
  }

  /** The hub is ready, unless a collection's last sync was inconclusive: such a list is as bad as no answer. */
  #hubAnswers(): void {
    const [why] = [...this.#collections].flatMap(([name, { inconclusive }]) => {
      const why = inconclusive.FULL ?? inconclusive.INCREMENTAL;
      return why === null ? [] : [`${name}: ${why}`];
    });
    const remedy = "Check the hub's answer and the token's rights; nothing was removed.";
    this.report('hub', why === undefined ? null : { why, remedy });
  }

  /** Why a copy lacks rows that the hub counts. */
  #shortScans(): NotReady[] {
    const short = [...this.#collections].flatMap(([name, { short }]) =>
      short === null ? [] : [`${name}: ${short.rows} of ${short.total} rows`],
    );
    if (short.length === 0) return [];
    const why = `the hub counts more rows than it returns: ${short.join(', ')}`;
    return [{ part: 'short', why, remedy: SHORT_REMEDY }];
  }

  #names(test: (monitor: CollectionMonitor) => boolean): CollectionName[] {
    return [...this.#collections].filter(([, monitor]) => test(monitor)).map(([name]) => name);
  }
}

function reasonOf(error: unknown): Reason {
  if (error instanceof RollcallError) return { why: error.message, remedy: error.remedy };
  return { why: 'an unexpected error occurred', remedy: 'See the log.' };
}
