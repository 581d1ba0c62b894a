import { enabledCollections } from '../config.ts';
import type { Emit } from '../core/pipeline-events.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { pullOutcome, type PullOutcome } from '../owner/pull.ts';
import type { Assembly } from '../session/assemble.ts';
import { openSession } from '../session/open-session.ts';
import { areasOf, type TenantState } from '../state/index-store.ts';
import { memoryState } from '../state/memory-state.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import type { CollectionRunner } from '../timetable/collection-runner.ts';
import { inOrder } from '../timetable/in-order.ts';
import { recordingLog, type PlannedRecords } from './recording-log.ts';

export interface PlanTenantOptions {
  readonly tenantId: string;
  /** The collections to plan; empty: all of them. */
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
  'outcome' | 'why' | 'remedy' | 'rowsOnHold' | 'missing' | 'nameless'
> {
  readonly seen: number | null;
  readonly unchanged: number | null;
  readonly whyOnHold: string | null;
  /**
   * Rows that the planned sync misses: a person would have to decide, or another full sync would have to miss them,
   * too. Empty unless keys are kept.
   */
  readonly missed: Readonly<Record<'on-hold' | 'missing', readonly string[]>>;
}

/** What a full sync would publish of one collection now. `seen` and `unchanged` are null for a derived collection. */
export interface CollectionPlan extends PlannedRecords, Omit<PlannedSync, 'missed'> {
  readonly collection: CollectionName;
  readonly keys: PlannedRecords['keys'] & PlannedSync['missed'];
}

/**
 * Interval of the incremental syncs, ms: the longest that a timer takes, so that none runs beside the planned full
 * sync.
 */
const NEVER_MS = 2 ** 31 - 1;

/**
 * What a full sync of a tenant would publish now. It is the ordinary sync, with a copy of the index in memory, and
 * a log that records transactions. It owns nothing and writes nothing, neither to Kafka nor to Redis.
 * What an owner publishes meanwhile may be counted, too. Throws `KAFKA_…`, `REGISTRY_…` and `INDEX_…`. If a sync
 * fails, this is part of the plan of its collection.
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
  const state = memoryState(options.tenantId);
  const log = recordingLog({ ...options, topics, now: tenant.runtime.now });
  const ending = new AbortController();
  const signal = AbortSignal.any([options.signal, ending.signal]);
  try {
    // Before the log's progress is read: recovery brings an index that is behind up to date, but not one that is ahead.
    for (const { name } of tenant.collections) {
      await copyIndex(name, tenant.state, state);
      await state.deletions.setMissing(name, await tenant.state.deletions.missing(name));
    }
    // All collections, because the guard counts them together.
    const { runners } = await openSession(
      {
        ...tenant,
        log,
        state,
        collections: tenant.collections.map((each) =>
          Object.assign({}, each, { incrementalEveryMs: NEVER_MS }),
        ),
        // Missing topics count as empty, and no record is framed with a schema.
        prepare: () => Promise.resolve(),
        emit: options.emit,
      },
      signal,
    );
    const plans = new Map<CollectionName, PlannedSync>();
    await inOrder(runners, [...new Set(shown.map(sourceOf))], async (source) => {
      const runner = runners.get(source);
      if (runner !== undefined)
        plans.set(source, await planSync(source, runner, { ...options, signal, state }));
    });
    return shown.flatMap((collection) => {
      const source = sourceOf(collection);
      const plan = plans.get(source);
      if (plan === undefined) return [];
      const { counts, keys, news } = log.planned(source, collection);
      const { missed, ...sync } = collection === source ? plan : { ...plan, ...OF_A_DERIVED_COLLECTION };
      return [{ collection, ...sync, counts, news, keys: { ...keys, ...missed } }];
    });
  } finally {
    ending.abort();
  }
}

/**
 * Copies an index. What its owner writes meanwhile may be in the copy or not: the recovery reads it from the topics
 * again. An index that is lost meanwhile is not copied.
 */
async function copyIndex(name: CollectionName, from: TenantState, to: TenantState): Promise<void> {
  const index = from.collection(name);
  const position = await index.position();
  if (position === null) return;
  const replay = await to.collection(name).rebuild();
  for (const area of areasOf(name))
    for await (const entries of index.entries(area))
      await replay.write(entries.map(([key, value]) => ({ area, key, value })));
  if ((await index.position()) !== null) await replay.finish(position);
}

/** The values of a derived collection in fields that only a source collection can fill. */
const OF_A_DERIVED_COLLECTION = {
  seen: null,
  unchanged: null,
  rowsOnHold: 0,
  missing: 0,
  nameless: 0,
  whyOnHold: null,
  missed: { 'on-hold': [], missing: [] },
} satisfies Partial<PlannedSync>;

async function planSync(
  source: CollectionName,
  runner: CollectionRunner,
  { keepsKeys, signal, state }: { keepsKeys: boolean; signal: AbortSignal; state: TenantState },
): Promise<PlannedSync> {
  let result: SyncResult | null = null;
  let failure: unknown = null;
  try {
    result = await runner.once('FULL', { signal });
  } catch (error) {
    signal.throwIfAborted();
    failure = error;
  }
  const planned = pullOutcome(source, runner, { result, error: failure });
  const { outcome, why, remedy, seen, rowsOnHold, missing, nameless } = planned;
  const waiting = keepsKeys ? await state.deletions.missing(source) : null;
  const keys = [...(waiting?.keys.keys() ?? [])];
  const whyOnHold = rowsOnHold > 0 ? (runner.progress?.deletions?.why ?? null) : null;
  return {
    outcome,
    why,
    remedy,
    seen,
    unchanged: result?.stats.rowsUnchanged ?? 0,
    rowsOnHold,
    // All missing rows of a collection on hold are rows on hold, including those that are missing for the first time.
    missing: whyOnHold === null ? missing : 0,
    nameless,
    whyOnHold,
    missed: rowsOnHold > 0 ? { 'on-hold': keys, missing: [] } : { 'on-hold': [], missing: keys },
  };
}
