import { enabledCollections } from '../config.ts';
import { RollcallError, type ErrorCode } from '../errors.ts';
import type { Emit } from '../core/pipeline-events.ts';
import type { ReadOnlyLog } from '../log/read-only-log.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { pullOutcome, type PullOutcome } from '../owner/pull.ts';
import type { Assembly } from '../session/assemble.ts';
import { openSession } from '../session/open-session.ts';
import type { Tenant } from '../table/tenant.ts';
import { MemoryState } from '../state/memory-state.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import { parentsFirst, type CollectionRunner } from '../timetable/collection-runner.ts';
import { RecordingLog, type PlannedRecords } from './recording-log.ts';

export interface PlanTenantOptions {
  readonly tenantId: string;
  /** Empty: all. */
  readonly collections: readonly CollectionName[];
  readonly keepsKeys: boolean;
  readonly emit: Emit;
  /** Called with how many records of topics were read. */
  readonly onRead: (records: number) => void;
  readonly signal: AbortSignal;
}

/** The planned sync of a collection that has syncs of its own. */
interface PlannedSync extends Pick<
  PullOutcome,
  'outcome' | 'why' | 'remedy' | 'rejectReasons' | 'withheld' | 'missing'
> {
  readonly seen: number | null;
  readonly unchanged: number | null;
  readonly whyWithheld: string | null;
  /** Rows that the planned sync misses: a person would have to decide, or another full sync confirms it. Empty unless keys are kept. */
  readonly missed: Readonly<Record<'withheld' | 'missing', readonly string[]>>;
  /** What the hub's rows were compared with: the owner's index, or one built in memory from the topics. */
  readonly basis: 'index' | 'topics';
}

/** What a full sync would publish of one collection now. `seen` and `unchanged` are null for a derived collection. */
export interface CollectionPlan extends PlannedRecords, Omit<PlannedSync, 'missed'> {
  readonly collection: CollectionName;
  readonly keys: PlannedRecords['keys'] & PlannedSync['missed'];
}

/** The last attempt reads the topics instead of the owner's index, which changes with every record of the owner. */
const ATTEMPTS = 4;
/** No incremental sync runs beside the planned full one. The longest time that a timer takes, ms. */
const NEVER_MS = 2 ** 31 - 1;

/**
 * What a full sync of a tenant would publish now: the ordinary sync, with an index that keeps its changes in memory and a
 * log that records transactions. It owns nothing and writes nothing, neither to Kafka nor to Redis. Throws `KAFKA_…`,
 * `REGISTRY_…` and `INDEX_…`; a failure of the hub is part of the collection's plan.
 */
export async function planTenant(
  assembly: Assembly,
  options: PlanTenantOptions,
): Promise<readonly CollectionPlan[]> {
  await using tenant = assembly.tenant(options.tenantId);
  const asked = options.collections;
  const shown = enabledCollections(tenant.config)
    .map(({ name }) => name)
    .filter((name) => asked.length === 0 || asked.includes(name));
  const topics = tenant.openReadOnlyLog();
  try {
    const planning = new Planning(tenant, options, topics);
    const plans = new Map<CollectionName, PlannedSync>();
    let left = [...new Set(shown.map(sourceOf))];
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const planned = await planning.attempt(left, attempt === ATTEMPTS);
      for (const { source, ...sync } of planned) plans.set(source, sync);
      left = left.filter((source) => !plans.has(source));
    }
    return shown.flatMap((collection) => {
      const source = sourceOf(collection);
      const plan = plans.get(source);
      if (plan === undefined) return [];
      const { counts, keys } = planning.log.planned(source, collection);
      const { missed, ...sync } = collection === source ? plan : { ...plan, ...OF_A_DERIVED_COLLECTION };
      return [{ collection, ...sync, counts, keys: { ...keys, ...missed } }];
    });
  } finally {
    await topics.close();
  }
}

/** What only its source has. */
const OF_A_DERIVED_COLLECTION = {
  seen: null,
  unchanged: null,
  rejectReasons: [],
  withheld: 0,
  missing: 0,
  whyWithheld: null,
  missed: { withheld: [], missing: [] },
} satisfies Partial<PlannedSync>;

class Planning {
  readonly log: RecordingLog;
  readonly #parts: Tenant;
  readonly #options: PlanTenantOptions;
  readonly #state: MemoryState;

  constructor(parts: Tenant, options: PlanTenantOptions, topics: ReadOnlyLog) {
    this.#options = options;
    this.#state = new MemoryState(options.tenantId, parts.state);
    this.log = new RecordingLog({ ...options, topics, now: parts.runtime.now });
    this.#parts = {
      ...parts,
      log: this.log,
      state: this.#state,
      collections: parts.collections.map((each) => Object.assign({}, each, { deltaEveryMs: NEVER_MS })),
      // Missing topics count as empty, and no record is framed with a schema.
      prepare: () => Promise.resolve(),
      emit: options.emit,
    };
  }

  /** Recovers all collections, because the guard counts them together, and syncs these. Leaves out what has to be planned again. */
  async attempt(
    sources: readonly CollectionName[],
    isLast: boolean,
  ): Promise<readonly (PlannedSync & { source: CollectionName })[]> {
    this.#options.signal.throwIfAborted();
    for (const source of sources) {
      this.log.discard(source);
      this.#state.deletions.discard(source);
    }
    await this.#state.begin(
      this.#parts.collections.map(({ name }) => name),
      { fromTopics: (name) => isLast && sources.includes(name) },
    );
    const ending = new AbortController();
    const signal = AbortSignal.any([this.#options.signal, ending.signal]);
    try {
      const { runners } = await openSession(this.#parts, signal);
      const planned = await parentsFirst(runners, sources, (source) =>
        this.#sync(source, { runner: runners.get(source), isLast, signal }),
      );
      return planned.filter((each) => each !== null);
    } catch (error) {
      if (isLast || !isMoved(error)) throw error;
      return [];
    } finally {
      ending.abort();
    }
  }

  async #sync(
    source: CollectionName,
    {
      runner,
      isLast,
      signal,
    }: { runner: CollectionRunner | undefined; isLast: boolean; signal: AbortSignal },
  ): Promise<(PlannedSync & { source: CollectionName }) | null> {
    let result: SyncResult | null = null;
    let failure: unknown = null;
    try {
      result = (await runner?.once('FULL', { signal })) ?? null;
    } catch (error) {
      signal.throwIfAborted();
      if (!isLast && isMoved(error)) return null;
      failure = error;
    }
    const { outcome, why, remedy, seen, rejectReasons, withheld, missing } = pullOutcome(source, {
      result,
      error: failure,
    });
    const waiting = this.#options.keepsKeys ? await this.#state.deletions.missing(source) : null;
    const keys = [...(waiting?.keys.keys() ?? [])];
    return {
      source,
      outcome,
      why,
      remedy,
      seen,
      unchanged: result?.stats.rowsUnchanged ?? 0,
      rejectReasons,
      withheld,
      missing,
      whyWithheld: withheld > 0 ? (runner?.progress?.deletions?.why ?? null) : null,
      missed: withheld > 0 ? { withheld: keys, missing: [] } : { withheld: [], missing: keys },
      basis: this.#state.collection(source).isOverLive ? 'index' : 'topics',
    };
  }
}

const MOVED: ReadonlySet<ErrorCode> = new Set([
  'INDEX_DIVERGED',
  'KAFKA_RECORDS_LOST',
  'KAFKA_TOPIC_MISSING',
]);

/** The owner has published, or a topic was lost, since the plan began. */
function isMoved(error: unknown): boolean {
  return error instanceof RollcallError && MOVED.has(error.code);
}
