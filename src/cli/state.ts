import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { syncedCollections, type TenantConfig } from '../config.ts';
import { hasLostRecords, planIndexRecovery } from '../core/index-recovery.ts';
import { describeError } from '../errors.ts';
import {
  CHAIN_COLLECTIONS,
  isChainCollection,
  sourceOf,
  STATE_TOPIC,
  type CollectionName,
} from '../model/collections.ts';
import { allOffsets, type Offsets } from '../model/progress.ts';
import { partitionName } from '../model/topic-names.ts';
import type { Assembly } from '../pipeline/assemble.ts';
import { readKnownProgress, type KnownProgress } from '../log/progress-reader.ts';
import { fetchOffsets } from '../log/topic-offsets.ts';
import type { IndexPosition } from '../state/index-store.ts';
import { chooseCollection, chooseTenants, requireMirrored } from './choose.ts';
import type { Output } from './output.ts';
import { indexAgainstLog, type IndexAgainstLog } from './state/compare-with-log.ts';
import { rebuildCommand } from './state/rebuild.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';
import { formatAge, formatCount, isoOrNull } from '../core/words.ts';

interface StateFlags {
  tenant?: string;
  collection?: string[];
}

/** `rollcall state`: compares the index with the log, and rebuilds it. */
export function stateCommand(): Command {
  const show = new Command('show')
    .description(
      "Shows the size of the index, which transaction it reflects, and whether that is the log's last.",
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .addHelpText(
      'after',
      wrapped(
        '\nThe index is derived from the topics: the next start of "rollcall run" brings it up to date. While a process is running, a transaction or two behind is normal: the log is read after the index.',
      ),
    )
    .action(verbAction(showState));
  return new Command('state')
    .description('Compares the index in Redis with the log in Kafka, and rebuilds it.')
    .addCommand(show.summary('compare the index with the log'))
    .addCommand(rebuildCommand().summary('rebuild the index from the topics'));
}

interface IndexFacts {
  readonly tenant: string;
  readonly collection: CollectionName;
  readonly position: IndexPosition | null;
  readonly rows: number;
  readonly rejects: number;
  readonly withheld: number;
  readonly missing: number;
}

interface CollectionState extends IndexFacts {
  readonly besideLog: IndexAgainstLog;
}

async function showState(context: VerbContext, { options }: VerbInput<StateFlags>): Promise<void> {
  const { output, signal } = context;
  const config = context.loadConfig({ withoutHub: true });
  const tenants = chooseTenants(config, options.tenant);
  const only = new Set((options.collection ?? []).map(chooseCollection).map(sourceOf));
  if (config.redis === undefined) {
    output.line(
      'There is no stored index: no Redis is configured, so the index lives in the memory of the running process',
    );
    output.line('and is rebuilt from the topics at each start.');
    output.data({ lasting: false, collections: [] });
    return;
  }
  requireMirrored(
    config,
    tenants.map(({ id }) => id),
    [...only],
  );
  await withAssembly(config, async (assembly) => {
    const indexes: IndexFacts[] = [];
    for (const tenant of tenants) {
      for (const { name } of syncedCollections(tenant)) {
        if (only.size === 0 || only.has(name)) indexes.push(await readIndex(assembly, tenant.id, name));
      }
    }
    // Read the log after the index: an owner that commits meanwhile can only put the log ahead, never behind.
    let log = await readLog(assembly, { tenants, only, signal });
    let states = indexes.map((index) => compareWithLog(index, log));
    // The last commit's records may not be visible yet: only records that a second read misses as well are lost.
    if (states.some(({ besideLog: { kind } }) => kind === 'rebuild')) {
      log = await readLog(assembly, { tenants, only, signal });
      states = indexes.map((index) => compareWithLog(index, log));
    }
    show(output, { states, trouble: log.trouble });
  });
}

interface LogFacts {
  /** Why the log could not be read; null when it could. */
  readonly trouble: string | null;
  readonly progress: ReadonlyMap<string, KnownProgress | null>;
  /** Next offset by `<topic>/<partition>`. */
  readonly nextOffsets: Offsets;
  /** First offset that still exists, likewise. */
  readonly firstOffsets: Offsets;
}

/** Without Kafka the command still shows the index, but cannot compare it with the log. */
async function readLog(
  assembly: Assembly,
  options: { tenants: readonly TenantConfig[]; only: ReadonlySet<string>; signal: AbortSignal },
): Promise<LogFacts> {
  const { tenants, only, signal } = options;
  try {
    return await withAdmin({ assembly, signal }, async (admin) => {
      const progress = await readKnownProgress({
        kafka: assembly.kafka,
        admin,
        registry: assembly.registry,
        topicPrefix: assembly.config.kafka.topicPrefix,
        tenantIds: tenants.map(({ id }) => id),
        signal,
      });
      const existing = new Set(await admin.listTopics());
      const nextOffsets: Record<string, number> = {};
      const firstOffsets: Record<string, number> = {};
      for (const topic of tenants.flatMap(({ id }) => assembly.tenant(id).topics)) {
        // The index of `absence-versions` also covers the topics of chains.
        const isWanted =
          only.size === 0 ||
          only.has(topic.suffix) ||
          topic.suffix === 'rejects' ||
          topic.suffix === STATE_TOPIC ||
          isChainCollection(topic.suffix);
        if (!isWanted || !existing.has(topic.name)) continue;
        for (const { partition, low, high } of await fetchOffsets(admin, topic.name)) {
          firstOffsets[partitionName(topic.name, partition)] = low;
          nextOffsets[partitionName(topic.name, partition)] = high;
        }
      }
      return { trouble: null, progress, nextOffsets, firstOffsets };
    });
  } catch (error) {
    signal.throwIfAborted();
    return { trouble: describeError(error), progress: new Map(), nextOffsets: {}, firstOffsets: {} };
  }
}

async function readIndex(
  assembly: Assembly,
  tenant: string,
  collection: CollectionName,
): Promise<IndexFacts> {
  const state = assembly.store.tenant(tenant);
  const index = state.collection(collection);
  return {
    tenant,
    collection,
    position: await index.position(),
    rows: await index.count('rows'),
    rejects: await index.count('rejects'),
    withheld: (await state.deletions.withheld(collection)).size,
    missing: (await state.deletions.missing(collection)).size,
  };
}

function compareWithLog(index: IndexFacts, log: LogFacts): CollectionState {
  const { position } = index;
  const known = log.progress.get(index.tenant) ?? null;
  const progress = known?.progress.get(index.collection) ?? null;
  const derived = CHAIN_COLLECTIONS.map((name) => known?.progress.get(name) ?? null);
  const chains = index.collection === 'absence-versions' ? derived : [];
  const offsets = allOffsets([progress, ...chains]);
  const hasLost =
    progress !== null && hasLostRecords({ ...log, offsets, knownFirstOffsets: position?.firstOffsets });
  const plan = hasLost
    ? ({ kind: 'rebuild', why: 'a topic was deleted, recreated or cut off' } as const)
    : planIndexRecovery({
        progress: progress === null ? null : { ...progress, offsets },
        index: position,
        transactionIds: known?.transactionIds.get(index.collection) ?? new Set(),
        nowMs: Date.now(),
      });
  return {
    ...index,
    besideLog: indexAgainstLog({ progress, position, plan, isLogKnown: log.trouble === null }),
  };
}

const PAINT = { equal: 'green', behind: 'yellow', rebuild: 'yellow', empty: 'dim', unknown: 'dim' } as const;

function show(
  output: Output,
  { states, trouble }: { states: readonly CollectionState[]; trouble: string | null },
): void {
  const { colors } = output;
  const nowMs = Date.now();
  for (const tenant of new Set(states.map((each) => each.tenant))) {
    output.line(colors.bold(tenant));
    output.table(
      [
        { title: '  collection' },
        { title: 'rows', align: 'right' },
        { title: 'rejects', align: 'right' },
        { title: 'transaction', align: 'right' },
        { title: 'id' },
        { title: 'committed', align: 'right' },
        { title: 'withheld', align: 'right' },
        { title: 'missing', align: 'right' },
        { title: 'compared with the log' },
      ],
      states
        .filter((each) => each.tenant === tenant)
        .map((each) => [
          `  ${each.collection}`,
          formatCount(each.rows),
          formatCount(each.rejects),
          each.position === null ? '-' : formatCount(each.position.sequence),
          each.position?.transactionId.slice(0, 8) ?? '-',
          formatAge(each.position?.committedAtMs ?? null, nowMs),
          formatCount(each.withheld),
          formatCount(each.missing),
          colors[PAINT[each.besideLog.kind]](each.besideLog.text),
        ]),
    );
    output.line();
  }
  if (trouble !== null)
    output.line(`${colors.yellow('!')} The index could not be compared with the log: ${trouble}`);
  output.data({ lasting: true, logTrouble: trouble, collections: states.map(asJson) });
}

function asJson({ position, besideLog, ...rest }: CollectionState): Record<string, unknown> {
  return {
    ...rest,
    position:
      position === null
        ? null
        : {
            sequence: position.sequence,
            transactionId: position.transactionId,
            committedAt: isoOrNull(position.committedAtMs),
          },
    besideLog: besideLog.kind,
    text: besideLog.text,
  };
}
