import { Command, Option } from 'commander';
import { stringify } from 'yaml';
import { countOf } from '../core/words.ts';
import type { Config } from '../config.ts';
import { describeError, RollcallError } from '../errors.ts';
import type { KafkaConnections } from '../log/wire/kafka-connections.ts';
import {
  createMissingTopics,
  cureTopics,
  deleteTopic,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
} from '../log/topic-settings.ts';
import { isCollectionName, sourceOf, topicsBegunWith } from '../model/collections.ts';
import { partsOfTopic } from '../model/topic-names.ts';
import { sleep } from '../runtime.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import { topicsOf } from '../session/used-in-kafka.ts';
import { requireNoOwner } from './as-owner.ts';
import { chooseFrom, chooseTenant, chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { authenticationOf, strimziResources } from './strimzi.ts';
import { requireKafka } from './verb-parts.ts';

/** A topic that has the prefix of the configuration, and that the configuration does not want. */
interface LeftOverTopic {
  readonly topic: string;
  /** What is not configured: this collection of the tenant, or the tenant. */
  readonly notConfigured: 'collection' | 'tenant';
}

interface TopicsFlags extends Scope {
  readonly yes?: boolean | undefined;
}

interface ListFlags extends Scope {
  readonly as?: 'strimzi' | undefined;
  readonly cluster: string;
}

/** `rollcall topics list|apply|recreate|purge`: compares topics with the contract and the configuration. */
export function command(): Command {
  const list = new Command('list')
    .description('Shows every configured topic, and topics that are left over from earlier configurations.')
    .option('--tenant <id>', 'only this tenant')
    .addOption(
      new Option(
        '--as <format>',
        'print resources for the Strimzi operator instead, without asking Kafka',
      ).choices(['strimzi']),
    )
    .option('--cluster <name>', 'the name of the Kafka resource, with --as', 'my-cluster')
    .addHelpText(
      'after',
      `
With --as strimzi it prints, as YAML, a KafkaTopic for each configured topic, and a KafkaUser with the rights that Rollcall needs.

Exit codes: 0 every topic fits; 1 a topic is missing or differs.`,
    )
    .action(
      verbAction<ListFlags>(async (verb) =>
        verb.flags.as === undefined ? compareTopics(verb, false) : printFor(verb),
      ),
    );
  const apply = new Command('apply')
    .description('Creates missing topics, corrects settings that differ, and shows the topics as list does.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
It never changes the number of partitions of a topic, because that would break the order of the records of a key. For that, see recreate.

Exit codes: 0 every topic fits; 1 the number of partitions of a topic is not the configured one.`,
    )
    .action(verbAction<Scope>((verb) => compareTopics(verb, true)));
  const recreation = new Command('recreate')
    .description('Deletes topics with all their records, and creates them again as configured.')
    .argument('<topic...>', 'collections, or rejects, progress, absence-state')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--yes', 'confirm that you want this')
    .addHelpText(
      'after',
      `
Use it to change the number of partitions, or if absences are lost (ABSENCES_LOST). The next "rollcall run" publishes all
rows of the topic again. Consumers must then read from the beginning, too (rollcall help consuming). The topics of absences
are always recreated together, and all their events are then marked as snapshots.

Exit codes: 0 recreated; 1 it failed; 2 a process mirrors the tenant; 3 --yes was not given.`,
    )
    .action(verbAction(recreate));
  const removal = new Command('purge')
    .description('Deletes topics that are no longer configured, with their subjects and their keys in Redis.')
    .argument('<topic...>', 'full names of topics')
    .option('--yes', 'confirm that you want this')
    .addHelpText(
      'after',
      `
Name topics as "rollcall topics list" does. The records cannot be restored. The collection's records in the topics "progress"
and "rejects" stay; "rollcall topics recreate rejects --tenant <id> --yes" empties rejects.

Exit codes: 0 deleted; 1 failed; 2 the topic is configured, or a process mirrors the tenant; 3 --yes was not given.`,
    )
    .action(verbAction(purge));
  return new Command('topics')
    .description('Compares topics with the contract and the configuration, and changes them to fit.')
    .addCommand(list.summary('show every topic and its differences'))
    .addCommand(apply.summary('create missing topics, correct settings'))
    .addCommand(recreation.summary('delete topics and create them again, to change the number of partitions'))
    .addCommand(removal.summary('delete topics that are no longer configured'));
}

/** Prints what a cluster has to have, for those who keep it in files. Returns the exit code. */
function printFor({ output, loadConfig, flags: { tenant, cluster } }: Verb<ListFlags>): number {
  const config = loadConfig({ without: 'services' });
  const topics = chooseTenants(config, tenant).flatMap((each) => topicsOf(config, each));
  const resources = strimziResources(config.kafka, topics, cluster);
  output.line(
    resources
      .map((each) => stringify(each))
      .join('---\n')
      .trimEnd(),
  );
  output.data(resources);
  if (authenticationOf(config.kafka) === null) output.note(NO_LOG_IN);
  return exitCode({});
}

const NO_LOG_IN =
  'The KafkaUser has no authentication, because Strimzi offers none for the log-in of this configuration: the KafkaUser only grants rights. Choose another log-in ("rollcall help estates#strimzi"), or make sure that the brokers know this user in another way.';

/** `applies`: first creates missing topics, and corrects settings. */
async function compareTopics(
  { output, signal, loadConfig, flags: { tenant } }: Verb<Scope>,
  applies: boolean,
): Promise<number> {
  const config = loadConfig({ without: 'hub' });
  const wanted = chooseTenants(config, tenant).flatMap((each) => topicsOf(config, each));
  await using assembly = assemble(config);
  await requireKafka(assembly, signal);
  const { kafka } = assembly;
  let findings = await inspectTopics(kafka, wanted);
  if (applies) {
    await createMissingTopics(kafka, findings);
    await cureTopics(kafka, findings);
    // Kafka is not asked again: a broker returns the old settings for a moment after the controller has accepted the
    // new ones.
    findings = findings.map((each) =>
      each.curable ? { ...each, exists: true, partitions: each.topic.partitions, differences: [] } : each,
    );
  }
  return show(output, findings, leftOverTopics(await kafka.listTopics(), config, tenant));
}

/** Prints a table of the topics, and what to do. Returns the exit code. */
function show(output: Output, findings: readonly TopicFinding[], left: readonly LeftOverTopic[]): number {
  const { colors } = output;
  const rows = findings.map(({ topic, exists, partitions, differences }) => {
    const mark = exists && differences.length === 0 ? colors.green('✓') : colors.red('✗');
    const compared = exists ? differences.join('; ') || 'equal' : 'missing';
    return [mark, topic.name, String(partitions ?? '-'), compared];
  });
  for (const { topic, notConfigured } of left)
    rows.push([colors.yellow('!'), topic, '-', `no such ${notConfigured} is configured`]);
  output.table(['', 'topic', 'partitions', 'compared with the contract'], rows);
  const wrong = findings.filter(({ exists, differences }) => !exists || differences.length > 0);
  const remedy = topicMismatch(wrong)?.remedy ?? 'Create them: "rollcall topics apply", or "rollcall run".';
  if (wrong.length > 0)
    output.line(
      `${colors.red('✗')} missing, or different from the contract: ${wrong.length} of ${countOf(findings.length, 'topic')}\n${colors.cyan('→')} ${remedy}`,
    );
  if (left.length > 0)
    output.line(
      `${colors.yellow('!')} ${countOf(left.length, 'topic is', 'topics are')} left over from an earlier configuration\n${colors.cyan('→')} To delete what is left over, with all records, add --yes: rollcall topics purge ${left.map(({ topic }) => topic).join(' ')}`,
    );
  const data = findings.map(({ topic: { name, partitions }, ...found }) =>
    Object.assign(found, { topic: name, wantedPartitions: partitions, notConfigured: null }),
  );
  output.data([...data, ...left]);
  return exitCode({ hasFailed: wrong.length > 0 });
}

function wantedTopics(config: Config): ReadonlySet<string> {
  return new Set(config.tenants.flatMap((each) => topicsOf(config, each)).map(({ name }) => name));
}

/** The topics among these that the configuration does not want. `tenantId`: only of this tenant. */
export function leftOverTopics(
  names: readonly string[],
  config: Config,
  tenantId?: string,
): readonly LeftOverTopic[] {
  const wanted = wantedTopics(config);
  const ids = new Set(config.tenants.map(({ id }) => id));
  return names.toSorted().flatMap((topic): LeftOverTopic[] => {
    const parts = partsOfTopic(topic);
    if (parts?.topicPrefix !== config.kafka.topicPrefix || wanted.has(topic)) return [];
    if (tenantId !== undefined && parts.tenantId !== tenantId) return [];
    return [{ topic, notConfigured: ids.has(parts.tenantId) ? 'collection' : 'tenant' }];
  });
}

async function purge({ output, signal, loadConfig, args, flags }: Verb<TopicsFlags>): Promise<number> {
  const config = loadConfig({ without: 'hub' });
  const wanted = wantedTopics(config);
  const topics = args.map((name) => ({ name, ...purgeable(name, wanted) }));
  if (flags.yes !== true) return report(output, 'deleted with all records', topics, false);
  for (const [topicPrefix, some] of Map.groupBy(topics, (topic) => topic.topicPrefix)) {
    await using assembly = assemble({ ...config, kafka: { ...config.kafka, topicPrefix } });
    await forget(assembly, some, signal);
    for (const { name } of some)
      await assembly.registry.removeSubject(`${name}-value`).catch((error: unknown) => {
        // This does not fail the command, because a subject holds no data.
        output.note(`! the subject ${name}-value stays in the registry: ${describeError(error)}`);
      });
    output.note(`deleting ${countOf(some.length, 'topic')} …`);
    await requireKafka(assembly, signal);
    await deleteTopics(assembly.kafka, some, signal);
  }
  return report(output, 'deleted', topics, true);
}

/** Returns the parts of the name of a topic that may be purged. Throws `USAGE_INVALID` for any other topic. */
function purgeable(topic: string, wanted: ReadonlySet<string>) {
  const parts = partsOfTopic(topic);
  if (parts !== null && !wanted.has(topic)) return parts;
  const why =
    parts === null ? 'is not a name that Rollcall gives to a topic' : 'is still in the configuration';
  const remedy =
    'Only topics that the configuration no longer names can be purged: "rollcall topics list" shows them.';
  throw new RollcallError('USAGE_INVALID', `${topic} ${why}: nothing was deleted`, { remedy });
}

async function recreate({ output, signal, loadConfig, args, flags }: Verb<TopicsFlags>): Promise<number> {
  const config = loadConfig({ without: 'hub' });
  const all = topicsOf(config, chooseTenant(config, flags.tenant));
  const known = all.map(({ suffix }) => suffix);
  const named = new Set(args.flatMap((name) => topicsBegunWith(chooseFrom('topic', name, known))));
  const topics = all.filter(({ suffix }) => named.has(suffix));
  if (flags.yes !== true) return report(output, 'deleted with all records, and created again', topics, false);
  await using assembly = assemble(config);
  await forget(assembly, topics, signal);
  await requireKafka(assembly, signal);
  // If the command is interrupted in between, the next start creates what is missing.
  await deleteTopics(assembly.kafka, topics, signal);
  // The topics are not inspected: a broker may still list what the controller, which creates topics, has deleted.
  const missing = topics.map((topic) => ({ topic, exists: false }));
  await createMissingTopics(assembly.kafka, missing);
  output.line(`${output.colors.cyan('→')} "rollcall run" publishes the records of these topics again.`);
  return report(output, 'recreated', topics, true);
}

interface Named {
  readonly name: string;
}

/** Says what the command has done, or would do if it were confirmed. Returns the exit code. */
function report(output: Output, what: string, topics: readonly Named[], isDone: boolean): number {
  const names = topics.map(({ name }) => name);
  output.line(`${isDone ? '✓' : 'To be'} ${what}: ${names.join(', ')}`);
  if (!isDone) output.note('! Not confirmed: nothing was changed\n→ Add --yes.');
  output.data({ confirmed: isDone, topics: names });
  return exitCode({ needsPerson: !isDone });
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

/** For a cluster that is busy or is restarting its brokers. */
const DELETION_WITHIN_MS = 120_000;
const LISTED_EVERY_MS = 200;

/**
 * Deletes topics, where they exist, and returns when no broker lists them: brokers still list a topic for a moment after
 * the controller has deleted it. Throws `KAFKA_…`.
 */
export async function deleteTopics(
  kafka: Pick<KafkaConnections, 'askController' | 'listTopics'>,
  topics: readonly Named[],
  signal: AbortSignal,
  pause = sleep,
): Promise<void> {
  for (const { name } of topics) {
    signal.throwIfAborted();
    await deleteTopic(kafka, name).catch((error: RollcallError) => {
      if (error.code !== 'KAFKA_TOPIC_MISSING') throw error;
    });
  }
  for (let waitedMs = 0; ; waitedMs += LISTED_EVERY_MS) {
    const listed = new Set(await kafka.listTopics());
    const name = topics.find((topic) => listed.has(topic.name))?.name;
    if (name === undefined) return;
    if (waitedMs >= DELETION_WITHIN_MS)
      throw new RollcallError(
        'KAFKA_UNREACHABLE',
        `Kafka has accepted the deletion of ${name}, but a broker still lists it after two minutes`,
        { remedy: 'Check that all brokers are up and reach their controller, and run the command again.' },
      );
    await pause(LISTED_EVERY_MS, signal);
  }
}
