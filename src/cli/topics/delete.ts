import { Command } from 'commander';
import type { Admin } from 'kafkajs';
import { partsOfTopic, type TopicParts, type WantedTopics } from '../../core/left-over.ts';
import { countOf } from '../../core/words.ts';
import { RollcallError } from '../../errors.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { createMissingTopics, inspectTopics } from '../../log/manage-topics.ts';
import { isCollectionName, sourceOf, topicsBegunWith } from '../../model/collections.ts';
import { sleep } from '../../runtime.ts';
import type { Assembly } from '../../session/assemble.ts';
import { requireNoOwner } from '../as-owner.ts';
import { chooseFrom, chooseTenant } from '../choose.ts';
import { EXIT, exitCode } from '../exit-code.ts';
import { wantedUnder } from '../left-over.ts';
import type { Output } from '../output.ts';
import { verbAction, type VerbContext, type VerbInput } from '../verb-action.ts';
import { quietAssembly, withAdmin } from '../with-assembly.ts';

interface DeleteFlags {
  readonly tenant?: string | undefined;
  readonly yes?: boolean | undefined;
}

const PURGE_HELP = `
Name topics as "rollcall topics list" does. It deletes the records without asking the hub, and they cannot be restored.
What a collection has in progress and rejects stays ("rollcall topics recreate rejects" empties that). If the
configuration wants the collection again, everything is published again.

Exit codes: 0 deleted; 1 it failed; 2 the configuration wants it, or a process runs for the tenant; 3 --yes was not given.`;

/** `rollcall topics purge`: deletes topics that the configuration no longer wants. */
export function purgeCommand(): Command {
  return new Command('purge')
    .description(
      'Deletes topics that the configuration no longer wants, with their subjects and the keys in Redis.',
    )
    .argument('<topic...>', 'whole names of topics')
    .option('--yes', 'really')
    .addHelpText('after', PURGE_HELP)
    .action(verbAction<DeleteFlags>(purge));
}

async function purge(context: VerbContext, { args, options }: VerbInput<DeleteFlags>): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig({ withoutHub: true });
  const wanted = wantedUnder(config);
  const topics = args.map((name = '') => ({ name, ...purgeable(name, wanted) }));
  if (options.yes !== true) return notConfirmed(output, 'deleted with all records', topics);
  for (const [topicPrefix, some] of Map.groupBy(topics, (topic) => topic.topicPrefix)) {
    await using assembly = quietAssembly({ ...config, kafka: { ...config.kafka, topicPrefix } });
    await forget(assembly, some, signal);
    for (const { name } of some)
      await assembly.registry.removeSubject(`${name}-value`).catch((error: unknown) => {
        // It holds no data.
        if (!(error instanceof RollcallError)) throw error;
        output.note(`! the subject ${name}-value stays in the registry: ${error.message}`);
      });
    await withAdmin({ assembly, signal }, (admin) => deleteTopics(admin, some, signal));
  }
  return done(output, 'deleted', topics);
}

/** Throws `USAGE_INVALID`. */
function purgeable(topic: string, wanted: WantedTopics): TopicParts {
  const parts = partsOfTopic(topic);
  const isWanted =
    parts?.topicPrefix === wanted.topicPrefix && wanted.tenants.get(parts.tenantId)?.has(parts.suffix);
  if (parts !== null && isWanted !== true) return parts;
  const why = parts === null ? 'is no name that Rollcall gives to a topic' : 'is still in the configuration';
  throw new RollcallError('USAGE_INVALID', `${topic} ${why}: nothing was deleted`, {
    remedy: '"rollcall topics list" shows the topics that can be purged.',
  });
}

const RECREATE_HELP = `
For topics whose number of partitions is not the configured one: keys stay with their partition, so only a new topic can
have another number. The next "rollcall run" publishes everything of the topic again, as a snapshot. The topics of
absences are recreated together.

Nothing that left the hub meanwhile gets a removal: consumers must read from the beginning, too (docs/consuming.md).

Exit codes: 0 recreated; 1 it failed; 2 a process runs for the tenant; 3 --yes was not given.`;

/** `rollcall topics recreate`: deletes and creates topics of the configuration. */
export function recreateCommand(): Command {
  return new Command('recreate')
    .description('Deletes topics of the configuration with all their records, and creates them as it says.')
    .argument('<topic...>', 'collections, or rejects, progress, absence-state')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--yes', 'really')
    .addHelpText('after', RECREATE_HELP)
    .action(verbAction<DeleteFlags>(recreate));
}

async function recreate(context: VerbContext, { args, options }: VerbInput<DeleteFlags>): Promise<number> {
  const { output, signal } = context;
  await using assembly = quietAssembly(context.loadConfig({ withoutHub: true }));
  const all = assembly.tenant(chooseTenant(assembly.config, options.tenant).id).topics;
  const known = all.map(({ suffix }) => suffix);
  const named = new Set(args.flatMap((name = '') => topicsBegunWith(chooseFrom('topic', name, known))));
  const topics = all.filter(({ suffix }) => named.has(suffix));
  if (options.yes !== true)
    return notConfirmed(output, 'deleted with all records, and created again', topics);
  await forget(assembly, topics, signal);
  await withAdmin({ assembly, signal }, async (admin) => {
    // If it is interrupted in between, the next start creates what is missing.
    await deleteTopics(admin, topics, signal);
    await createMissingTopics(admin, await inspectTopics(admin, topics));
  });
  output.line(`${output.colors.cyan('→')} "rollcall run" publishes the records of these topics again.`);
  return done(output, 'recreated', topics);
}

interface Named {
  readonly name: string;
}

function notConfirmed(output: Output, what: string, topics: readonly Named[]): number {
  const names = topics.map(({ name }) => name);
  output.line(`To be ${what}: ${names.join(', ')}`);
  output.note('! Not confirmed: nothing was changed\n→ Add --yes.');
  output.data({ confirmed: false, topics: names });
  return exitCode({ needsPerson: true });
}

function done(output: Output, what: string, topics: readonly Named[]): number {
  for (const { name } of topics) output.line(`${output.colors.green('✓')} ${what} ${name}`);
  output.data({ confirmed: true, topics: topics.map(({ name }) => name) });
  return EXIT.ok;
}

/** Drops what Redis holds of the topics' collections. Throws `USAGE_INVALID` if a process runs for their tenant. */
async function forget(
  assembly: Assembly,
  topics: readonly { readonly tenantId: string; readonly suffix: string }[],
  signal: AbortSignal,
): Promise<void> {
  await assembly.store.ready();
  for (const tenantId of new Set(topics.map((topic) => topic.tenantId)))
    await requireNoOwner(assembly, { tenantId, signal });
  for (const { tenantId, suffix } of topics)
    if (isCollectionName(suffix)) await assembly.store.tenant(tenantId).forget(sourceOf(suffix));
}

/** Two minutes in all, for a cluster that is busy or is restarting its brokers. */
const ATTEMPTS = 600;
const BETWEEN_ATTEMPTS_MS = 200;

/**
 * Deletes topics, where they exist, and returns when no broker lists them: brokers still list a topic for a moment after
 * the controller has deleted it. Throws `KAFKA_…`; `KAFKA_UNREACHABLE` when they do not stop: whether the topics are
 * deleted is then unknown.
 */
export async function deleteTopics(
  admin: Pick<Admin, 'deleteTopics' | 'listTopics'>,
  topics: readonly Named[],
  signal: AbortSignal,
): Promise<void> {
  for (const { name } of topics) {
    signal.throwIfAborted();
    await admin.deleteTopics({ topics: [name] }).catch((error: unknown) => refuseUnlessMissing(name, error));
  }
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const listed = new Set(
      await admin.listTopics().catch((error: unknown) => {
        throw kafkaError(error, 'listing topics');
      }),
    );
    if (!topics.some(({ name }) => listed.has(name))) return;
    await sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
  const seconds = (ATTEMPTS * BETWEEN_ATTEMPTS_MS) / 1_000;
  throw new RollcallError(
    'KAFKA_UNREACHABLE',
    `${countOf(topics.length, 'topic')} were deleted, and some are still listed after ${seconds} s`,
    { remedy: 'Check that all brokers are up and follow their controller, and give the command again.' },
  );
}

function refuseUnlessMissing(topic: string, error: unknown): void {
  const known = kafkaError(error, `deleting ${topic}`);
  if (known.code === 'KAFKA_TOPIC_MISSING') return;
  if (known.code !== 'KAFKA_REFUSED') throw known;
  throw new RollcallError('KAFKA_REFUSED', known.message, {
    remedy: `Grant this user DELETE on the topics, or have a user with that right delete ${topic}; then give the command again.`,
    cause: error,
  });
}
