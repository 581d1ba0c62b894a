import { Command, InvalidArgumentError } from 'commander';
import { wrapped } from './help-text.ts';
import type { Admin } from 'kafkajs';
import type { Config } from '../config.ts';
import { RollcallError } from '../errors.ts';
import type { TopicSuffix } from '../model/collections.ts';
import { topicName } from '../model/topic-names.ts';
import type { Assembly } from '../pipeline/assemble.ts';
import { kafkaError } from '../log/kafka-errors.ts';
import { followTopics, type StartingPoint } from '../log/topic-follower.ts';
import { fetchOffsets } from '../log/topic-offsets.ts';
import { chooseTenants, chooseTopic } from './choose.ts';
import { recordAsJson, recordCount, recordLine, tailedRecord } from './tail/record-line.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';

interface TailFlags {
  tenant?: string;
  fromBeginning: boolean;
  limit?: number;
  key?: string;
  values: boolean;
}

/** `rollcall tail`: decoded records of a collection's topic as they are committed. */
export function tailCommand(): Command {
  return new Command('tail')
    .description(
      "Shows a topic's records as they are committed, one per line: time, partition@offset, kind of change, key. " +
        'Only --values or --json shows the contents of rows. For absence-changes the step, the version, its times in ' +
        "the tenant's fullPull.timeZone, and its class are always shown.",
    )
    .argument('<collection...>', 'collections, rejects, progress')
    .option('--tenant <id>', 'only this tenant')
    .option('--from-beginning', 'also show existing records', false)
    .option('--limit <number>', 'end after this many records', positiveWhole)
    .option('--key <key>', 'only records with this key')
    .option('--values', 'show the decoded values, as JSON', false)
    .addHelpText(
      'after',
      wrapped(`
With --json each line is {"topic", "partition", "offset", "timestamp", "key", "headers", "value"}.

Examples:
  rollcall tail absence-changes                           watch absences being registered, corrected, withdrawn
  rollcall tail users --from-beginning --limit 5          the first few records
  rollcall tail progress rejects                          two topics at once
  rollcall tail results --json | jq -r .key               for programs

Ends on Ctrl-C, or after --limit records, with 0.`),
    )
    .action(verbAction(tail));
}

async function tail(context: VerbContext, { args, options }: VerbInput<TailFlags>): Promise<void> {
  const suffixes = [...new Set(args.map((name) => chooseTopic(name ?? '')))];
  const config = context.loadConfig({ withoutHub: true });
  const topics = topicsOf(config, { suffixes, tenant: options.tenant });
  await withAssembly(config, async (assembly) => {
    const from = await withAdmin({ assembly, signal: context.signal }, (admin) =>
      startingPoints(admin, {
        topics: topics.map(({ name }) => name),
        fromBeginning: options.fromBeginning,
      }),
    );
    await follow({ context, assembly, topics, from, flags: options });
  }).catch((error: unknown) => {
    // A stop while connecting is a normal end.
    if (!context.signal.aborted) throw error;
  });
}

interface TailedTopic {
  readonly name: string;
  readonly suffix: TopicSuffix;
  readonly timeZone: string;
}

function topicsOf(
  config: Config,
  { suffixes, tenant }: { suffixes: readonly TopicSuffix[]; tenant: string | undefined },
): TailedTopic[] {
  const { topicPrefix } = config.kafka;
  return chooseTenants(config, tenant).flatMap(({ id, fullPull: { timeZone } }) =>
    suffixes.map((suffix) => ({ name: topicName({ topicPrefix, tenantId: id }, suffix), suffix, timeZone })),
  );
}

/** Reads the end offsets before the consumer starts, so that records committed while it joins are shown, too. */
async function startingPoints(
  admin: Admin,
  options: { topics: readonly string[]; fromBeginning: boolean },
): Promise<StartingPoint[]> {
  const existing = new Set(
    await admin.listTopics().catch((error: unknown) => {
      throw kafkaError(error, 'listing topics');
    }),
  );
  const present = options.topics.filter((topic) => existing.has(topic));
  if (present.length === 0) {
    throw new RollcallError(
      'KAFKA_TOPIC_MISSING',
      `None of these topics exists: ${options.topics.join(', ')}`,
      {
        remedy:
          'Topics are created when the collection is first mirrored ("rollcall run"), or by "rollcall topics apply"; also check kafka.topicPrefix.',
      },
    );
  }
  const points: StartingPoint[] = [];
  for (const topic of present) {
    for (const { partition, low, high } of await fetchOffsets(admin, topic)) {
      points.push({ topic, partition, offset: options.fromBeginning ? low : high });
    }
  }
  return points;
}

/** Topics whose lines need the decoded value. */
const SHOWS_VALUE: ReadonlySet<TopicSuffix> = new Set(['rejects', 'progress', 'absence-changes']);

async function follow(options: {
  context: VerbContext;
  assembly: Assembly;
  topics: readonly TailedTopic[];
  from: readonly StartingPoint[];
  flags: TailFlags;
}): Promise<void> {
  const { context, assembly, from, flags } = options;
  const { output, signal } = context;
  const { colors } = output;
  const known = new Map(options.topics.map((topic) => [topic.name, topic]));
  const topics = [...new Set(from.map(({ topic }) => topic))];
  const wantedKey = flags.key === undefined ? null : Buffer.from(flags.key, 'utf8');
  let shown = 0;
  await followTopics({
    kafka: assembly.kafka,
    groupIdPrefix: assembly.config.kafka.topicPrefix,
    from,
    signal,
    onReady: () => output.note(`listening to ${topics.join(', ')} …`),
    onMessage: async (topic, partition, message) => {
      if (wantedKey !== null && message.key?.equals(wantedKey) !== true) return true;
      const followed = known.get(topic);
      if (followed === undefined) return true;
      const { suffix, timeZone } = followed;
      const needsValue = output.json || flags.values || SHOWS_VALUE.has(suffix);
      const value = needsValue && message.value !== null ? await decoded(assembly, message.value) : null;
      const record = tailedRecord({ topic, suffix, partition }, message, value);
      output.line(
        recordLine(record, { colors, values: flags.values, showTopic: topics.length > 1, timeZone }),
      );
      output.data(recordAsJson(record));
      shown += 1;
      return shown !== flags.limit;
    },
  });
  if (!output.json) output.note(`${recordCount(shown)} shown`);
}

/** Replaces the decoder's errors, which may quote data, and name neither the registry nor a remedy. */
async function decoded(assembly: Assembly, framed: Buffer): Promise<unknown> {
  try {
    return await assembly.registry.decode(framed);
  } catch (error) {
    const { url } = assembly.config.registry;
    const { status } = error as { status?: unknown };
    const why =
      typeof status === 'number'
        ? `it answered HTTP ${status}`
        : 'it cannot be reached, or the record is not Avro';
    throw new RollcallError('REGISTRY_UNREACHABLE', `No schema from ${url} to decode a record: ${why}`, {
      remedy: 'Check registry.url: it must be the registry with which the topic was written.',
      cause: error,
    });
  }
}

function positiveWhole(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A whole number above 0 is needed.');
  return Number(text);
}
