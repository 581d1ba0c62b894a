import { collectionSettings, enabledCollections, type TenantConfig } from '../../config.ts';
import { SHORT_REMEDY } from '../../core/deletions/evidence.ts';
import { hubReasons } from '../../core/health/hub-watch.ts';
import type { NotReady } from '../../core/health/parts.ts';
import type { TenantFacts } from '../../core/health/tenant-facts.ts';
import { tenantStatus, type TenantStatus } from '../../core/health/tenant-status.ts';
import type { CollectionName } from '../../model/collections.ts';
import type { Progress } from '../../model/progress.ts';
import type { PipelineEvent } from '../../core/pipeline-events.ts';
import { CollectionMonitor, type LiveCollection } from './collection-monitor.ts';
import { HubWatch } from './watch-hub.ts';

/** Notes the events of a tenant, and judges its health from them at any time. */
export class TenantMonitor {
  readonly tenant: string;
  readonly #deltaOverlapMs: number;
  readonly #collections: ReadonlyMap<CollectionName, CollectionMonitor>;
  readonly #hub = new HubWatch();
  #owner: TenantStatus['owner'] = null;
  #isOwner = false;
  #hubSkewMs = 0;
  #withheldGroups: TenantFacts['withheldGroups'];

  constructor(config: TenantConfig) {
    this.tenant = config.id;
    this.#deltaOverlapMs = config.deltaOverlapMs;
    this.#collections = new Map(
      enabledCollections(config).map(({ name, keyset }) => {
        const { deltaEveryMs, fullPull } = collectionSettings(config, name);
        const settings = { collection: name, hasIncremental: keyset, deltaEveryMs, fullPull };
        return [name, new CollectionMonitor(settings, config.deltaOverlapMs)];
      }),
    );
  }

  set withheldGroups(groups: TenantFacts['withheldGroups']) {
    this.#withheldGroups = groups;
  }

  note(event: PipelineEvent, nowMs: number): void {
    switch (event.type) {
      case 'hub':
        this.#hub.note(event.event, nowMs);
        return;
      case 'owned':
        this.#owner = { owner: event.owner, ownedSinceMs: nowMs };
        this.#isOwner = true;
        return;
      case 'session-failed':
        this.#isOwner = false;
        this.#hub.sessionEnded();
        return;
      case 'chains-published':
        this.#noteAbsences(event, nowMs);
        return;
      case 'caught-up':
      case 'pass-ended':
        if (event.type === 'pass-ended')
          this.#hubSkewMs = event.stats.startedAtMs - (nowMs - event.durationMs);
        this.#collections.get(event.collection)?.note(event, nowMs);
        for (const progress of event.derived ?? [])
          this.#collections.get(progress.collection)?.setProgress(progress, nowMs);
        return;
      case 'pass-started':
      case 'pass-page':
      case 'pass-failed':
      case 'pass-stopped':
      case 'not-offered':
      case 'committed':
        this.#collections.get(event.collection)?.note(event, nowMs);
        return;
      default:
    }
  }

  /** `reported`: what else this process knows to be in trouble. */
  status(reported: readonly NotReady[], nowMs: number): TenantStatus {
    const collections = [...this.#collections.values()].map((each) => each.facts());
    const known = new Set(reported.map(({ part }) => part));
    const ofHub = hubReasons(this.tenant, this.#hub.facts(), nowMs).filter(({ part }) => !known.has(part));
    return tenantStatus({
      tenant: this.tenant,
      deltaOverlapMs: this.#deltaOverlapMs,
      collections,
      owner: this.#owner,
      isOwnerAlive: this.#isOwner,
      notOffered: this.#names(({ isNotOffered }) => isNotOffered),
      wrongTenant: this.#names(({ isWrongTenant }) => isWrongTenant),
      areAbsencesLost: this.#names(({ isLost }) => isLost).length > 0,
      withheldGroups: this.#withheldGroups,
      // Their number alone is a metric; what they are, only the index knows.
      contradictions: null,
      hubSkewMs: this.#hubSkewMs,
      reported: [...reported, ...ofHub, ...this.#shortScans()],
      nowMs,
    });
  }

  /** The last record of each collection in `progress`. */
  get progress(): ReadonlyMap<CollectionName, Progress | null> {
    return new Map([...this.#collections].map(([name, { progress }]) => [name, progress]));
  }

  live(nowMs: number): ReadonlyMap<CollectionName, LiveCollection> {
    return new Map([...this.#collections].map(([name, each]) => [name, each.live(nowMs)]));
  }

  /** Circuits that are open now. */
  get openCircuits(): ReadonlySet<'hub' | 'core'> {
    return new Set(this.#hub.facts().circuits.keys());
  }

  /** Why a copy lacks rows that the hub counts. */
  #shortScans(): NotReady[] {
    const short = [...this.#collections].flatMap(([name, { short }]) =>
      short === null ? [] : [`${name}: ${short.rows} of ${short.total} rows`],
    );
    if (short.length === 0) return [];
    const why = `the hub counts more rows than it returns: ${short.join(', ')}`;
    return [{ part: 'short', tenant: this.tenant, why, remedy: SHORT_REMEDY }];
  }

  #names(test: (monitor: CollectionMonitor) => boolean): CollectionName[] {
    return [...this.#collections].filter(([, monitor]) => test(monitor)).map(([name]) => name);
  }

  #noteAbsences(event: PipelineEvent & { type: 'chains-published' }, nowMs: number): void {
    const { created, replaced, restored, deleted, shown, hidden } = event.tally;
    const changes = this.#collections.get('absence-changes');
    changes?.addChanges({ created, updated: replaced + restored + deleted }, nowMs);
    this.#collections.get('absences')?.addChanges({ updated: shown, removed: hidden }, nowMs);
  }
}
