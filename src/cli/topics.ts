import { Command } from 'commander';
import type { Admin } from 'kafkajs';
import { named } from '../core/health/decisions.ts';
import { partsOfTopic, type TopicParts, type WantedTopics } from '../core/left-over.ts';
import { countOf, formatCount } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { kafkaError } from '../log/kafka-errors.ts';
import {
  createMissingTopics,
  cureTopics,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
  type WantedTopic,
} from '../log/manage-topics.ts';
import { isCollectionName, sourceOf, topicsBegunWith } from '../model/collections.ts';
import { sleep } from '../runtime.ts';
import type { Assembly } from '../session/assemble.ts';
import { requireNoOwner } from './as-owner.ts';
import { chooseFrom, chooseTenant, chooseTenants } from './choose.ts';
import { EXIT, exitCode } from './exit-code.ts';
import {
  countRecords,
  findLeftOver,
  leftOverAsJson,
  showLeftOver,
  wantedUnder,
  type LeftOverTopics,
} from './left-over.ts';
import type { Output } from './output.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly, withAdmin } from './with-assembly.ts';

interface TopicsFlags {
  readonly tenant?: string | undefined;
  readonly yes?: boolean | undefined;
  readonly prefix?: string | undefined;
}

/** `rollcall topics list|apply|recreate|purge`: compares topics with the contract and the configuration. */
export function command(): Command {
  const list = new Command('list')
    .description(
      'Shows every topic of the configuration: whether it exists, partitions, differences, records; and the topics ' +
        'that the configuration no longer wants.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--prefix <prefix>', 'instead, the topics under an earlier kafka.topicPrefix')
    .addHelpText(
      'after',
      `
Records are counted by offsets, which include removed and compacted ones: the number is an upper bound.

Exit codes: 0 every topic fits; 1 a topic is missing or differs.`,
    )
    .action(verbAction(listTopics));
  const apply = new Command('apply')
    .description(
      'Creates missing topics, applies the settings of the contract to existing ones, and shows them as list does.',
    )
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
It never changes the number of partitions of an existing topic, which would break the order per key. If one differs from
the configuration, the command reports it and ends with 1.`,
    )
    .action(verbAction(applyTopics));
  const recreation = new Command('recreate')
    .description('Deletes topics of the configuration with all their records, and creates them as it says.')
    .argument('<topic...>', 'collections, or rejects, progress, absence-state')
    .option('--tenant <id>', 'the tenant; needed if there are several')
    .option('--yes', 'really')
    .addHelpText(
      'after',
      `
For topics whose number of partitions is not the configured one: keys stay with their partition, so only a new topic can
have another number. The next "rollcall run" publishes everything of the topic again, as a snapshot. The topics of
absences are recreated together.

Nothing that left the hub meanwhile gets a removal: consumers must read from the beginning, too (docs/consuming.md).

Exit codes: 0 recreated; 1 it failed; 2 a process runs for the tenant; 3 --yes was not given.`,
    )
    .action(verbAction(recreate));
  const removal = new Command('purge')
    .description(
      'Deletes topics that the configuration no longer wants, with their subjects and the keys in Redis.',
    )
    .argument('<topic...>', 'whole names of topics')
    .option('--yes', 'really')
    .addHelpText(
      'after',
      `
Name topics as "rollcall topics list" does. It deletes the records without asking the hub, and they cannot be restored.
What a collection has in progress and rejects stays ("rollcall topics recreate rejects" empties that). If the
configuration wants the collection again, everything is published again.

Exit codes: 0 deleted; 1 it failed; 2 the configuration wants it, or a process runs for the tenant; 3 --yes was not given.`,
    )
    .action(verbAction(purge));
  return new Command('topics')
    .description('Compares topics with the contract and the configuration, and changes them to fit.')
    .addCommand(list.summary('show every topic and its differences'))
    .addCommand(apply.summary('create missing topics, correct settings'))
    .addCommand(recreation.summary('delete and create topics, with another number of partitions'))
    .addCommand(removal.summary('delete what the configuration no longer wants'));
}

function wantedOf(assembly: Assembly, tenant: string | undefined): readonly WantedTopic[] {
  return chooseTenants(assembly.config, tenant).flatMap(({ id }) => assembly.tenant(id).topics);
}

async function listTopics(context: VerbContext, { options }: VerbInput<TopicsFlags>): Promise<number> {
  const { output, signal } = context;
  await using assembly = quietAssembly(context.loadConfig({ withoutHub: true }));
  const configured = wantedUnder(assembly.config);
  const { tenant, prefix = configured.topicPrefix } = options;
  const isOther = prefix !== configured.topicPrefix;
  return await withAdmin({ assembly, signal }, async (admin) => {
    const findings = isOther ? [] : await inspectTopics(admin, wantedOf(assembly, tenant));
    const wanted = isOther ? { topicPrefix: prefix, tenants: new Map() } : configured;
    const left = await findLeftOver(admin, wanted, tenant);
    return show(output, admin, { findings, left: isOther ? { ...left, otherPrefixes: new Map() } : left });
  });
}

async function applyTopics(context: VerbContext, { options }: VerbInput<TopicsFlags>): Promise<number> {
  const { output, signal } = context;
  await using assembly = quietAssembly(context.loadConfig({ withoutHub: true }));
  const wanted = wantedOf(assembly, options.tenant);
  return await withAdmin({ assembly, signal }, async (admin) => {
    const before = await inspectTopics(admin, wanted);
    await createMissingTopics(admin, before);
    await cureTopics(admin, before);
    // A broker returns the old settings for a moment after the controller has accepted the new ones.
    let findings = before;
    for (let attempt = 0; attempt < ATTEMPTS && !findings.every(isApplied); attempt += 1) {
      if (attempt > 0) await sleep(BETWEEN_ATTEMPTS_MS, signal);
      findings = await inspectTopics(admin, wanted);
    }
    return show(output, admin, { findings, left: { topics: [], otherPrefixes: new Map() } });
  });
}

const ATTEMPTS = 20;
const BETWEEN_ATTEMPTS_MS = 150;

function isApplied(finding: TopicFinding): boolean {
  return fits(finding) || !finding.curable;
}

function fits({ exists, differences }: TopicFinding): boolean {
  return exists && differences.length === 0;
}

/** Prints a table of the topics, and what to do. Returns the exit code. */
async function show(
  output: Output,
  admin: Admin,
  { findings, left }: { findings: readonly TopicFinding[]; left: LeftOverTopics },
): Promise<number> {
  const { colors } = output;
  const rows: string[][] = [];
  const data: object[] = [];
  for (const finding of findings) {
    const { topic, exists, partitions, differences, curable } = finding;
    const recordsAtMost = exists ? await countRecords(admin, topic.name) : null;
    rows.push([
      fits(finding) ? colors.green('✓') : exists ? colors.red('✗') : colors.yellow('!'),
      topic.name,
      String(partitions ?? '-'),
      recordsAtMost === null ? '-' : formatCount(recordsAtMost),
      exists ? differences.join('; ') || 'equal' : 'missing',
    ]);
    const wantedPartitions = topic.partitions;
    const compared = { exists, partitions, wantedPartitions, differences, curable, recordsAtMost };
    data.push({ topic: topic.name, ...compared, notConfigured: null });
  }
  for (const { topic, recordsAtMost, lacks } of left.topics)
    rows.push([colors.yellow('!'), topic, '-', formatCount(recordsAtMost), `no such ${lacks} is configured`]);
  output.table(['', 'topic', 'partitions', 'records ≤', 'compared with the contract'], rows);
  const wrong = findings.filter((each) => !fits(each));
  if (wrong.length > 0) {
    const names = named(wrong.map(({ topic }) => topic.name));
    output.line(`${colors.red('✗')} ${wrong.length} of ${findings.length} missing or different: ${names}`);
    output.line(
      `${colors.cyan('→')} ${topicMismatch(wrong)?.remedy ?? 'Create them: "rollcall topics apply", or "rollcall run".'}`,
    );
  }
  showLeftOver(output, left);
  output.data([...data, ...left.topics.map(leftOverAsJson)]);
  return exitCode({ hasFailed: wrong.length > 0 });
}

async function purge(context: VerbContext, { args, options }: VerbInput<TopicsFlags>): Promise<number> {
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
    output.note(`deleting ${countOf(some.length, 'topic')} under ${topicPrefix} …`);
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

async function recreate(context: VerbContext, { args, options }: VerbInput<TopicsFlags>): Promise<number> {
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

/** For a cluster that is busy or is restarting its brokers. */
const DELETION_WITHIN_MS = 120_000;
const LISTED_EVERY_MS = 200;

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
  for (let waitedMs = 0; waitedMs < DELETION_WITHIN_MS; waitedMs += LISTED_EVERY_MS) {
    const listed = new Set(
      await admin.listTopics().catch((error: unknown) => {
        throw kafkaError(error, 'listing topics');
      }),
    );
    if (!topics.some(({ name }) => listed.has(name))) return;
    await sleep(LISTED_EVERY_MS, signal);
  }
  throw new RollcallError(
    'KAFKA_UNREACHABLE',
    `${countOf(topics.length, 'topic')} were deleted, and some are still listed after two minutes`,
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
