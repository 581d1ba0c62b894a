import type { TenantConfig } from '../config.ts';
import { HubWatch, OF_WHOLE_HUB } from '../core/health/hub-watch.ts';
import type { HealthPart, NotReady, TenantFacts } from '../core/health/tenant-facts.ts';
import { tenantStatus, type TenantStatus } from '../core/health/tenant-status.ts';
import { isFromHub, isOfOneCollection, RollcallError, type ErrorSource } from '../errors.ts';
import { isoOrNull } from '../core/words.ts';
import type { CollectionName } from '../model/collections.ts';
import type { Progress } from '../model/progress.ts';
import type { HubEvent, RequestTarget } from '../core/hub-events.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { type CollectionMonitor, monitorsOf, reasonOf, type Reason } from './collection-monitor.ts';

/** A commit that takes no longer than this did not wait for a quota. */
const FAST_MS = 1_000;
const THROTTLED: Reason = {
  why: 'throttled by the broker: requests wait for the quota of this user or client id',
  remedy:
    'Raise the producer_byte_rate of this user or client id (kafka-configs), or wait: Rollcall goes on at the allowed rate.',
};
const TAKING_OVER: Reason = {
  why: 'the process is taking over the tenant and bringing its index up to date',
  remedy: 'Wait; the log shows the progress.',
};
const NOT_ASKED: Reason = {
  why: 'the hub has not answered yet',
  remedy: 'Wait. If this continues, check hub.baseUrl and hub.tokenUrl with "rollcall check".',
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
  readonly #incrementalOverlapMs: number;
  readonly #now: () => number;
  readonly #collections: ReadonlyMap<CollectionName, CollectionMonitor>;
  readonly #hub = new HubWatch();
  /** The parts that an event or a watch has reported as not ready. */
  readonly #reported = new Map<HealthPart, NotReady>();
  #owner: TenantFacts['owner'] = null;
  isOwner = false;
  /** Number of contradictory absences; null where absences are not mirrored. */
  contradictions: number | null = null;
  #hubSkewMs = 0;

  constructor(config: TenantConfig, now: () => number) {
    this.tenant = config.id;
    this.#incrementalOverlapMs = config.incrementalOverlapMs;
    this.#now = now;
    this.#collections = monitorsOf(config);
    this.report('start', TAKING_OVER);
  }

  /** Sets why a part is not ready, in place of the reason before; null: it is ready again. Returns whether that is new. */
  report(part: HealthPart, reason: Reason | null): boolean {
    if (reason === null) return this.#reported.delete(part);
    const before = this.#reported.get(part);
    const since = before?.since ?? new Date(this.#now()).toISOString();
    this.#reported.set(part, { part, since, ...reason });
    return before?.why !== reason.why;
  }

  /** Returns whether an event that reports a trouble is news. */
  note(event: PipelineEvent): boolean {
    const nowMs = this.#now();
    if ('collection' in event) this.#collections.get(event.collection)?.note(event, nowMs);
    switch (event.type) {
      case 'hub':
        this.#noteRequest(event.event, nowMs);
        return true;
      case 'owned':
        this.#owner = { owner: event.owner, ownedSinceMs: nowMs };
        this.isOwner = true;
        // Each step of a start is reported again, so that it shows when this step began.
        if (this.report('start', null)) this.report('start', TAKING_OVER);
        for (const part of ['kafka', 'registry', 'redis', 'owner'] as const) this.report(part, null);
        return true;
      case 'session-opened':
        for (const part of ['pipeline', 'failed'] as const) this.report(part, null);
        if (this.report('start', null)) this.report('start', NOT_ASKED);
        return true;
      case 'session-failed':
        return this.#noteFailedSession(event.error, isoOrNull(nowMs + event.retryInMs));
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
        // A complete sync shows that the hub is well, even if it had no answer for one class. Lessons come from the
        // Core API, which may be well while the rest of the hub fails.
        if (event.outcome === 'complete' && event.collection !== 'schedules') this.#hub.forget();
        return this.#isFailureNew(event.collection);
      case 'sync-failed':
        if (isFromHub(event.error)) return this.#noteHubFailure(event.error, event.collection);
        // Any other error ends the session, and the session reports the error.
        return isOfOneCollection(event.error) && this.#isFailureNew(event.collection);
      case 'not-offered':
        this.#noteRefusal(event.error);
        return true;
      default:
        return true;
    }
  }

  status(): TenantStatus {
    const nowMs = this.#now();
    const monitors = [...this.#collections.values()];
    const ofHub = this.#reported.has('hub') ? [] : this.#hub.reasons(nowMs);
    return tenantStatus({
      tenant: this.tenant,
      incrementalOverlapMs: this.#incrementalOverlapMs,
      collections: monitors.map((each) => each.facts()),
      owner: this.#owner,
      isOwnerAlive: this.isOwner,
      notOffered: monitors.flatMap(({ collection, isNotOffered }) => (isNotOffered ? [collection] : [])),
      areAbsencesLost: monitors.some(({ isLost }) => isLost),
      contradictions: this.contradictions,
      hubSkewMs: this.#hubSkewMs,
      reported: [...this.#reported.values(), ...ofHub],
      nowMs,
    });
  }

  #noteRequest(event: HubEvent, nowMs: number): void {
    const isKnown = event.type === 'request-failed' && this.#isFailing(event.target);
    if (!isKnown) this.#hub.note(event, nowMs);
    const isAnswer = event.type === 'request-done' && event.target !== 'token';
    if (isAnswer || event.type === 'circuit-closed') this.#hubAnswers();
  }

  /** The last sync under an earlier configuration may be of a collection that is not mirrored any more. */
  #isFailureNew(collection: CollectionName): boolean {
    return this.#collections.get(collection)?.isFailureNew ?? false;
  }

  /** A collection that fails again and again says nothing new about the hub, which may have answered others meanwhile. */
  #isFailing(target: RequestTarget): boolean {
    return target !== 'token' && this.#collections.get(target)?.failing != null;
  }

  /**
   * Returns whether the failure is news. If the whole hub fails, each collection reports this with a different message,
   * and only the first one is news.
   */
  #noteHubFailure(error: RollcallError, collection: CollectionName): boolean {
    const isOfHub = OF_WHOLE_HUB.test(error.code);
    const isKnown = isOfHub && error.reaction === 'retry' && this.#reported.has('hub');
    if (isOfHub && !this.#isFailing(collection)) return this.report('hub', reasonOf(error)) && !isKnown;
    this.#noteRefusal(error);
    return this.#isFailureNew(collection) && !isKnown;
  }

  /**
   * If one collection gets no usable answer, the hub has not failed. But if no other collection has had an answer yet,
   * the address may be wrong.
   */
  #noteRefusal(error: unknown): void {
    if (this.#reported.has('hub') || this.#reported.has('start')) this.report('hub', reasonOf(error));
  }

  live(collection: CollectionName): CollectionMonitor {
    const known = this.#collections.get(collection);
    if (known === undefined) throw new TypeError(`${this.tenant} does not mirror ${collection}`);
    return known;
  }

  /** Returns whether the failure is news. `nextAt`: when the next session begins, ISO 8601. */
  #noteFailedSession(error: unknown, nextAt: string | null): boolean {
    this.#sessionEnded();
    const { why, remedy } = reasonOf(error);
    const next = `Rollcall begins a new session by itself at ${nextAt}, and then after pauses of up to half a minute.`;
    if (!(error instanceof RollcallError) || PART_OF[error.source] === 'pipeline')
      return this.report('pipeline', { why, remedy: `${remedy} ${next}` });
    const isNews = this.report(PART_OF[error.source], { why, remedy });
    const last = `the tenant is not mirrored: its last session failed (${error.code})`;
    this.report('pipeline', { why: last, remedy: next });
    return isNews;
  }

  #sessionEnded(): void {
    this.isOwner = false;
    this.#hub.forget();
    for (const each of this.#collections.values()) each.endSyncs();
  }

  /**
   * Notes that the tenant needs a person. Every other reason is dropped, because Rollcall tries nothing else for this
   * tenant.
   */
  #noteFailure(error: RollcallError): boolean {
    this.#sessionEnded();
    for (const part of this.#reported.keys()) if (part !== 'failed') this.report(part, null);
    return this.report('failed', reasonOf(error));
  }

  #noteDerived(derived: readonly Progress[] | undefined): void {
    for (const progress of derived ?? []) {
      const monitor = this.#collections.get(progress.collection);
      if (monitor !== undefined) monitor.progress = progress;
    }
  }

  #hubAnswers(): void {
    // A session that ends under an earlier configuration may still get answers.
    if (this.isOwner) this.report('start', null);
    this.report('hub', null);
  }
}
