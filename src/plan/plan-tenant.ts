import { enabledCollections } from '../config.ts';
import { RollcallError, type ErrorCode } from '../errors.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { MemoryState } from '../state/memory-state.ts';
import type { AssembledTenant, Assembly } from '../session/assemble.ts';
import type { Emit } from '../core/pipeline-events.ts';
import { parentsFirst } from '../timetable/parents-first.ts';
import { pullOutcome, type PullOutcome } from '../owner/pull.ts';
import type { SyncResult } from '../sync/sync-result.ts';
import { openSession } from '../session/open-session.ts';
import type { TenantParts } from '../session/tenant-parts.ts';
import { Recorder, type PlannedRecords } from './recorder.ts';
import { RecordingLog } from './recording-log.ts';
import { readTopicEnds } from './read-topic-ends.ts';

export interface PlanTenantOptions {
  readonly tenantId: string;
  /** Empty: all that can be planned. */
  readonly collections: readonly CollectionName[];
  /** How many keys of a collection are kept; 0: none. */
  readonly keysAtMost: number;
  readonly emit: Emit;
  /** Called with how many records of topics were read. */
  readonly onRead: (records: number) => void;
  readonly signal: AbortSignal;
}

/** What a full sync would publish of one collection now. */
export interface CollectionPlan extends PlannedRecords, Pick<PullOutcome, 'outcome' | 'why' | 'remedy'> {
  readonly collection: CollectionName;
  /** Null for a derived collection, like `unchanged`. */
  readonly seen: number | null;
  readonly unchanged: number | null;
  readonly rejectReasons: PullOutcome['rejectReasons'];
  readonly withheld: number;
  /** Rows that the planned sync misses and another one must miss too. */
  readonly missing: number;
  readonly whyWithheld: string | null;
  /** Empty unless keys are kept. */
  readonly withheldKeys: readonly string[];
  /** What the hub's rows were compared with: the owner's index, or one built in memory from the topics. */
  readonly basis: 'index' | 'topics';
  /** How often planning began again because the owner had published meanwhile. */
  readonly restarts: number;
  /** The topics have grown while they served as the basis: the plan may count what the owner has published since. */
  readonly isOvertaken: boolean;
}

/** Left out: a sync of schedules asks for each student, and waits five minutes before it believes a loss. */
const NOT_PLANNED: CollectionName = 'schedules';

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
  const tenant = assembly.tenant(options.tenantId);
  const asked = options.collections;
  const shown = enabledCollections(tenant.config)
    .map(({ name }) => name)
    .filter((name) => name !== NOT_PLANNED && (asked.length === 0 || asked.includes(name)));
  const topics = tenant.openReadOnlyLog();
  try {
    const planning = new Planning(tenant, options, topics);
    const sources = await planning.plan([...new Set(shown.map(sourceOf))]);
    return shown.flatMap((name) => {
      const source = sources.get(sourceOf(name));
      return source === undefined ? [] : [planning.describe(name, source)];
    });
  } finally {
    await topics.close();
  }
}

/** The outcome of one planned sync. */
interface PlannedSync extends Pick<
  CollectionPlan,
  'whyWithheld' | 'withheldKeys' | 'basis' | 'restarts' | 'isOvertaken'
> {
  readonly outcome: PullOutcome;
  readonly unchanged: number;
}

interface SyncOutcome {
  readonly collection: CollectionName;
  readonly result: SyncResult | null;
  readonly error: unknown;
}

class Planning {
  readonly #parts: TenantParts;
  readonly #options: PlanTenantOptions;
  readonly #recorder: Recorder;
  readonly #state: MemoryState;
  readonly #topics: Topics;
  /** Why a planned sync would hold its collection. */
  readonly #why = new Map<CollectionName, string>();

  constructor(tenant: AssembledTenant, options: PlanTenantOptions, topics: Topics) {
    const { parts } = tenant;
    const { keysAtMost, onRead, tenantId, emit } = options;
    this.#options = options;
    this.#topics = topics;
    this.#recorder = new Recorder({ keysAtMost, now: parts.runtime.now });
    this.#state = new MemoryState(tenantId, parts.state);
    this.#parts = {
      ...parts,
      log: new RecordingLog({ topics, recorder: this.#recorder, onRead }),
      state: this.#state,
      collections: parts.collections
        .filter(({ name }) => name !== NOT_PLANNED)
        .map((each) => Object.assign({}, each, { deltaEveryMs: NEVER_MS })),
      schedules: undefined,
      // Missing topics count as empty, and no record is framed with a schema.
      prepare: () => Promise.resolve(),
      emit: (event) => {
        if (event.type === 'deletion' && event.event.kind === 'held')
          this.#why.set(event.event.collection, event.event.why);
        emit(event);
      },
    };
  }

  async plan(sources: readonly CollectionName[]): Promise<ReadonlyMap<CollectionName, PlannedSync>> {
    const planned = new Map<CollectionName, PlannedSync>();
    let left = sources;
    for (let attempt = 1; left.length > 0; attempt += 1) {
      const isLast = attempt === ATTEMPTS;
      const endsBefore = await readTopicEnds(this.#topics, left);
      const outcomes = await this.#attempt(left, isLast).catch((error: unknown) => {
        if (isLast || !isMoved(error)) throw error;
        return [];
      });
      const ends = await readTopicEnds(this.#topics, left);
      for (const each of outcomes) {
        const { collection, error } = each;
        if (!isLast && isMoved(error)) continue;
        const hasGrown = ends.get(collection) !== endsBefore.get(collection);
        planned.set(collection, await this.#describeSync(each, { restarts: attempt - 1, hasGrown }));
      }
      left = left.filter((each) => !planned.has(each));
    }
    return planned;
  }

  /** Recovers all collections, because the guard counts them together, and syncs only these. */
  async #attempt(sources: readonly CollectionName[], isLast: boolean): Promise<readonly SyncOutcome[]> {
    const { signal } = this.#options;
    signal.throwIfAborted();
    for (const source of sources) {
      this.#recorder.discard(source);
      this.#state.deletions.discard(source);
    }
    await this.#state.begin(
      this.#parts.collections.map(({ name }) => name),
      { fromTopics: (name) => isLast && sources.includes(name) },
    );
    const ending = new AbortController();
    try {
      const both = AbortSignal.any([signal, ending.signal]);
      const { runners } = await openSession(this.#parts, both);
      return await parentsFirst(runners, sources, async (collection): Promise<SyncOutcome> => {
        try {
          const result = (await runners.get(collection)?.once('FULL', { signal: both })) ?? null;
          return { collection, result, error: null };
        } catch (error) {
          return { collection, result: null, error };
        }
      });
    } finally {
      ending.abort();
    }
  }

  async #describeSync(
    { collection, result, error }: SyncOutcome,
    { restarts, hasGrown }: { restarts: number; hasGrown: boolean },
  ): Promise<PlannedSync> {
    this.#options.signal.throwIfAborted();
    const outcome = pullOutcome(collection, { result, error });
    const isWithheld = outcome.withheld > 0;
    const isOverLive = this.#state.collection(collection).isOverLive;
    const missing = (await this.#state.deletions.missing(collection))?.keys;
    return {
      outcome,
      unchanged: result?.stats.rowsUnchanged ?? 0,
      whyWithheld: isWithheld ? (this.#why.get(collection) ?? null) : null,
      withheldKeys: isWithheld ? [...(missing?.keys() ?? [])].slice(0, this.#options.keysAtMost) : [],
      basis: isOverLive ? 'index' : 'topics',
      restarts,
      isOvertaken: hasGrown && !isOverLive,
    };
  }

  describe(collection: CollectionName, sync: PlannedSync): CollectionPlan {
    const { outcome, unchanged, whyWithheld, withheldKeys, ...basis } = sync;
    const source = outcome.collection;
    const isSource = collection === source;
    const { counts, keys, keysLeftOut } = this.#recorder.records(source, collection);
    return {
      collection,
      outcome: outcome.outcome,
      why: outcome.why,
      remedy: outcome.remedy,
      seen: isSource ? outcome.seen : null,
      unchanged: isSource ? unchanged : null,
      rejectReasons: isSource ? outcome.rejectReasons : [],
      counts,
      keys,
      keysLeftOut,
      withheld: isSource ? outcome.withheld : 0,
      missing: isSource ? outcome.missing : 0,
      whyWithheld: isSource ? whyWithheld : null,
      withheldKeys: isSource ? withheldKeys : [],
      ...basis,
    };
  }
}

type Topics = ReturnType<AssembledTenant['openReadOnlyLog']>;

const MOVED: ReadonlySet<ErrorCode> = new Set([
  'INDEX_DIVERGED',
  'KAFKA_RECORDS_LOST',
  'KAFKA_TOPIC_MISSING',
]);

/** The owner has published, or a topic was lost, since the plan began. */
function isMoved(error: unknown): boolean {
  return error instanceof RollcallError && MOVED.has(error.code);
}
