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
import type { ProgressLine } from '../progress-line.ts';
import { verbAction, type VerbContext, type VerbInput } from '../verb-action.ts';
import { withAdmin, withAssembly } from '../with-assembly.ts';

interface DeleteFlags {
  readonly tenant?: string | undefined;
  readonly yes?: boolean | undefined;
}

const PURGE_HELP = `
Name topics as "rollcall topics list" does. It deletes the records without asking the hub, and they cannot be restored.
What a collection has in progress and rejects stays ("rollcall topics recreate rejects" begins those anew). If the
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
  const progress = output.progress();
  for (const [topicPrefix, some] of Map.groupBy(topics, (topic) => topic.topicPrefix)) {
    await withAssembly({ ...config, kafka: { ...config.kafka, topicPrefix } }, async (assembly) => {
      await forget(assembly, some, signal);
      for (const { name } of some) await removeSubject(assembly, `${name}-value`, progress);
      await withAdmin({ assembly, signal }, (admin) => deleteTopics(admin, some, { progress, signal }));
    });
  }
  progress.end();
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

Nothing that left the hub meanwhile gets a removal: consumers must begin anew, too (docs/consuming.md).

Exit codes: 0 recreated; 1 it failed; 2 a process runs for the tenant; 3 --yes was not given.`;

/** `rollcall topics recreate`: begins topics of the configuration anew. */
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
  return withAssembly(context.loadConfig({ withoutHub: true }), async (assembly) => {
    const all = assembly.tenant(chooseTenant(assembly.config, options.tenant).id).topics;
    const known = all.map(({ suffix }) => suffix);
    const named = new Set(args.flatMap((name = '') => topicsBegunWith(chooseFrom('topic', name, known))));
    const topics = all.filter(({ suffix }) => named.has(suffix));
    if (options.yes !== true)
      return notConfirmed(output, 'deleted with all records, and created again', topics);
    await forget(assembly, topics, signal);
    const progress = output.progress();
    await withAdmin({ assembly, signal }, async (admin) => {
      // If it is interrupted in between, the next start creates what is missing.
      await deleteTopics(admin, topics, { progress, signal });
      await createMissingTopics(admin, await inspectTopics(admin, topics));
    });
    progress.end();
    done(output, 'recreated', topics);
    output.line(`${output.colors.cyan('→')} "rollcall run" publishes their records again.`);
    return EXIT.ok;
  });
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

/** A subject holds no data: when its removal fails, the topic is still deleted. */
async function removeSubject({ registry }: Assembly, subject: string, progress: ProgressLine): Promise<void> {
  try {
    await registry.removeSubject(subject);
  } catch (error) {
    if (!(error instanceof RollcallError)) throw error;
    progress.print(`! the subject ${subject} stays in the registry: ${error.message}`);
  }
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
  { progress, signal }: { progress: Pick<ProgressLine, 'update'>; signal: AbortSignal },
): Promise<void> {
  for (const { name } of topics) {
    signal.throwIfAborted();
    progress.update(`deleting ${name}`);
    await admin.deleteTopics({ topics: [name] }).catch((error: unknown) => refuseUnlessMissing(name, error));
  }
  for (let attempt = 1; ; attempt += 1) {
    const listed = new Set(
      await admin.listTopics().catch((error: unknown) => {
        throw kafkaError(error, 'listing topics');
      }),
    );
    const [first, ...others] = topics.filter(({ name }) => listed.has(name));
    if (first === undefined) return;
    if (attempt === ATTEMPTS) throw stillListed(first.name, others.length);
    progress.update(`waiting until no broker lists ${countOf(others.length + 1, 'topic')} any more`);
    await sleep(BETWEEN_ATTEMPTS_MS, signal);
  }
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

function stillListed(first: string, others: number): RollcallError {
  const more = others === 0 ? '' : ` and ${countOf(others, 'other')}`;
  const seconds = (ATTEMPTS * BETWEEN_ATTEMPTS_MS) / 1_000;
  return new RollcallError(
    'KAFKA_UNREACHABLE',
    `${first}${more} were deleted, and are still listed after ${seconds} s`,
    { remedy: 'Check that all brokers are up and follow their controller, and give the command again.' },
  );
}
