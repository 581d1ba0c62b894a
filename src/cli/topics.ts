import { setTimeout as delay } from 'node:timers/promises';
import { wrapped } from './help-text.ts';
import { Command } from 'commander';
import type { Admin } from 'kafkajs';
import { EXIT, exitCode } from './exit-code.ts';
import type { Assembly } from '../session/assemble.ts';
import { fetchOffsets } from '../log/topic-offsets.ts';
import {
  createMissingTopics,
  cureTopics,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
  type WantedTopic,
} from '../log/manage-topics.ts';
import { chooseTenants } from './choose.ts';
import { findLeftOver, leftOverAsJson, wantedUnder } from './left-over/find-left-over.ts';
import { showPrefixes, showTopicsLeftOver } from './left-over/show-left-over.ts';
import type { Output } from './output.ts';
import { purgeCommand } from './topics/purge.ts';
import { recreateCommand } from './topics/recreate.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';
import { countOf, formatCount } from '../core/words.ts';

interface TopicsFlags {
  readonly tenant?: string | undefined;
  readonly prefix?: string | undefined;
}

/** `rollcall topics list|apply|recreate|purge`: compares topics with the contract and the configuration. */
export function topicsCommand(): Command {
  const list = new Command('list')
    .description(
      'Shows every topic of the configuration: whether it exists, partitions, differences, records; and the topics ' +
        'that the configuration no longer wants.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--prefix <prefix>', 'instead, the topics under an earlier kafka.topicPrefix')
    .addHelpText(
      'after',
      wrapped(
        '\nRecords are counted by offsets, which include removed and compacted ones: the number is an upper bound.\n\nExit codes: 0 every topic fits; 1 a topic is missing or differs.',
      ),
    )
    .action(verbAction(listTopics));
  const apply = new Command('apply')
    .description('Creates missing topics, and applies the settings of the contract to existing ones.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      wrapped(
        '\nIt never changes the number of partitions of an existing topic, which would break the order per key. If one differs from the configuration, the command reports it and ends with 1.',
      ),
    )
    .action(verbAction(applyTopics));
  return new Command('topics')
    .description('Compares topics with the contract and the configuration, and changes them to fit.')
    .addCommand(list.summary('show every topic and its differences'))
    .addCommand(apply.summary('create missing topics, correct settings'))
    .addCommand(recreateCommand().summary('begin topics anew, with another number of partitions'))
    .addCommand(purgeCommand().summary('remove what the configuration no longer wants'));
}

function wantedOf(assembly: Assembly, tenant: string | undefined) {
  return chooseTenants(assembly.config, tenant).flatMap(({ id }) => assembly.tenant(id).topics);
}

async function listTopics(context: VerbContext, { options }: VerbInput<TopicsFlags>): Promise<number> {
  const { output, signal } = context;
  return withAssembly(context.loadConfig({ withoutHub: true }), async (assembly) => {
    const { prefix, tenant } = options;
    const configured = wantedUnder(assembly.config);
    const isNamed = (each: { tenantId: string }): boolean => tenant === undefined || each.tenantId === tenant;
    if (prefix !== undefined && prefix !== configured.topicPrefix) {
      const wanted = { topicPrefix: prefix, tenants: new Map() };
      const found = await withAdmin({ assembly, signal }, (admin) => findLeftOver(admin, wanted));
      const topics = found.topics.filter(isNamed);
      if (topics.length === 0)
        output.line(`no topics of ${tenant ?? 'any tenant'} under the prefix ${prefix}`);
      else showTopicsLeftOver(output, topics);
      output.data(topics.map(leftOverAsJson));
      return EXIT.ok;
    }
    const wanted = wantedOf(assembly, tenant);
    return withAdmin({ assembly, signal }, async (admin) => {
      const findings = await inspectTopics(admin, wanted);
      const records = await countRecords(admin, findings);
      const found = await findLeftOver(admin, configured);
      const topics = found.topics.filter(isNamed);
      showList(output, findings, records);
      if (topics.length > 0) output.line();
      if (topics.length > 0) showTopicsLeftOver(output, topics);
      showPrefixes(output, found);
      output.data([...findings.map((each) => asJson(each, records)), ...topics.map(leftOverAsJson)]);
      return exitCode({ hasFailed: !findings.every(fits) });
    });
  });
}

function asJson(
  { topic, exists, partitions, differences, curable }: TopicFinding,
  records: ReadonlyMap<string, number>,
): Record<string, unknown> {
  return {
    topic: topic.name,
    exists,
    partitions,
    wantedPartitions: topic.partitions,
    differences,
    curable,
    recordsAtMost: records.get(topic.name) ?? null,
    notConfigured: null,
  };
}

function fits({ exists, differences }: TopicFinding): boolean {
  return exists && differences.length === 0;
}

async function countRecords(
  admin: Admin,
  findings: readonly TopicFinding[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const { topic, exists } of findings) {
    if (!exists) continue;
    const ranges = await fetchOffsets(admin, topic.name);
    counts.set(
      topic.name,
      ranges.reduce((sum, { low, high }) => sum + high - low, 0),
    );
  }
  return counts;
}

function showList(
  output: Output,
  findings: readonly TopicFinding[],
  records: ReadonlyMap<string, number>,
): void {
  const { colors } = output;
  output.table(
    [
      { title: '' },
      { title: 'topic' },
      { title: 'partitions', align: 'right' },
      { title: 'records ≤', align: 'right' },
      { title: 'compared with the contract' },
    ],
    findings.map((finding) => [
      fits(finding) ? colors.green('✓') : finding.exists ? colors.red('✗') : colors.yellow('!'),
      finding.topic.name,
      String(finding.partitions ?? '-'),
      finding.exists ? formatCount(records.get(finding.topic.name) ?? 0) : '-',
      besideContract(finding),
    ]),
  );
  const missing = findings.filter(({ exists }) => !exists).length;
  const differing = findings.filter(({ differences }) => differences.length > 0).length;
  output.line();
  if (missing + differing === 0) {
    output.line(`${colors.green('✓')} ${allFit(findings.length)}`);
    return;
  }
  const parts = [
    ...(missing > 0 ? [`${missing} of ${findings.length} missing`] : []),
    ...(differing > 0 ? [`${differing} different`] : []),
  ];
  output.line(`${colors.red('✗')} ${parts.join(', ')}`);
  output.line(
    `${colors.cyan('→')} "rollcall topics apply" creates missing topics and corrects settings; "rollcall run" creates missing topics.`,
  );
  const recounted = topicMismatch(findings.filter(({ curable }) => !curable));
  if (recounted !== null) output.line(`${colors.cyan('→')} ${recounted.remedy}`);
}

function allFit(count: number): string {
  return count === 1 ? 'the topic fits the contract' : `all ${count} topics fit the contract`;
}

function besideContract({ exists, differences }: TopicFinding): string {
  if (!exists) return 'missing';
  return differences.length === 0 ? 'equal' : differences.join('; ');
}

async function applyTopics(context: VerbContext, { options }: VerbInput<TopicsFlags>): Promise<number> {
  return withAssembly(context.loadConfig({ withoutHub: true }), async (assembly) => {
    const wanted = wantedOf(assembly, options.tenant);
    return withAdmin({ assembly, signal: context.signal }, async (admin) => {
      const before = await inspectTopics(admin, wanted);
      await createMissingTopics(admin, before);
      await cureTopics(admin, before);
      const after = await inspectWhenApplied(admin, { wanted, before });
      showApplied(context.output, before, after);
      return exitCode({ hasFailed: !after.every(fits) });
    });
  });
}

const ATTEMPTS = 20;
const BETWEEN_ATTEMPTS_MS = 150;

/** A broker returns the old settings for a moment after the controller has accepted the new ones. */
async function inspectWhenApplied(
  admin: Admin,
  options: { wanted: readonly WantedTopic[]; before: readonly TopicFinding[] },
): Promise<readonly TopicFinding[]> {
  const { wanted, before } = options;
  const hopeless = new Set(before.filter(({ curable }) => !curable).map(({ topic }) => topic.name));
  for (let attempt = 1; ; attempt += 1) {
    const found = await inspectTopics(admin, wanted);
    const isApplied = found.every((finding) => fits(finding) || hopeless.has(finding.topic.name));
    if (isApplied || attempt === ATTEMPTS) return found;
    await delay(BETWEEN_ATTEMPTS_MS);
  }
}

function showApplied(output: Output, before: readonly TopicFinding[], after: readonly TopicFinding[]): void {
  const { colors } = output;
  const created = before.filter(({ exists }) => !exists).map(({ topic }) => topic.name);
  const wrong = after.filter((finding) => !fits(finding));
  const stillWrong = new Set(wrong.map(({ topic }) => topic.name));
  const corrected = before
    .filter((finding) => finding.exists && !fits(finding) && !stillWrong.has(finding.topic.name))
    .map(({ topic, differences }) => ({ topic: topic.name, differences }));
  for (const topic of created) output.line(`${colors.green('✓')} created ${topic}`);
  for (const { topic, differences } of corrected) {
    output.line(`${colors.green('✓')} corrected ${topic}: ${differences.map(asPast).join('; ')}`);
  }
  for (const { topic, differences } of wrong) {
    output.line(`${colors.red('✗')} ${topic.name}: ${differences.join('; ')}`);
  }
  if (wrong.length > 0) {
    const remedy = wrong.some(({ curable }) => !curable)
      ? topicMismatch(wrong)?.remedy
      : 'The broker did not accept the settings: check for a policy of the cluster, or set them with kafka-configs.';
    output.line(`${colors.cyan('→')} ${remedy}`);
  } else if (created.length + corrected.length === 0) {
    output.line(`${colors.green('✓')} nothing to do: ${allFit(after.length)}`);
  } else {
    output.line(
      `${colors.green('✓')} ${countOf(created.length, 'topic')} created, ${corrected.length === 0 ? 'none' : formatCount(corrected.length)} corrected`,
    );
  }
  output.data({
    created,
    cured: corrected,
    refused: wrong.map(({ topic, differences }) => ({ topic: topic.name, differences })),
  });
}

/** `segment.ms is 5, should be at most 4` → `segment.ms was 5, …`. */
function asPast(difference: string): string {
  return difference.replace(' is ', ' was ');
}
