import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import type { Admin } from 'kafkajs';
import { exitCode } from './exit-code.ts';
import type { Assembly } from '../session/assemble.ts';
import {
  createMissingTopics,
  cureTopics,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
  type WantedTopic,
} from '../log/manage-topics.ts';
import { chooseTenants } from './choose.ts';
import {
  countRecords,
  findLeftOver,
  leftOverAsJson,
  showLeftOver,
  showTopicsLeftOver,
  wantedUnder,
} from './left-over.ts';
import type { Output } from './output.ts';
import { purgeCommand, recreateCommand } from './topics/delete.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin, withAssembly } from './with-assembly.ts';
import { countOf, formatCount } from '../core/words.ts';

interface TopicsFlags {
  readonly tenant?: string | undefined;
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
    .description('Creates missing topics, and applies the settings of the contract to existing ones.')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
It never changes the number of partitions of an existing topic, which would break the order per key. If one differs from
the configuration, the command reports it and ends with 1.`,
    )
    .action(verbAction(applyTopics));
  return new Command('topics')
    .description('Compares topics with the contract and the configuration, and changes them to fit.')
    .addCommand(list.summary('show every topic and its differences'))
    .addCommand(apply.summary('create missing topics, correct settings'))
    .addCommand(recreateCommand().summary('begin topics anew, with another number of partitions'))
    .addCommand(purgeCommand().summary('delete what the configuration no longer wants'));
}

function wantedOf(assembly: Assembly, tenant: string | undefined) {
  return chooseTenants(assembly.config, tenant).flatMap(({ id }) => assembly.tenant(id).topics);
}

async function listTopics(context: VerbContext, { options }: VerbInput<TopicsFlags>): Promise<number> {
  const { output, signal } = context;
  return withAssembly(context.loadConfig({ withoutHub: true }), async (assembly) => {
    const configured = wantedUnder(assembly.config);
    const { tenant, prefix = configured.topicPrefix } = options;
    const isOther = prefix !== configured.topicPrefix;
    return withAdmin({ assembly, signal }, async (admin) => {
      const findings = isOther ? [] : await inspectTopics(admin, wantedOf(assembly, tenant));
      const listed: Listed[] = [];
      for (const finding of findings)
        listed.push({
          ...finding,
          records: finding.exists ? await countRecords(admin, finding.topic.name) : null,
        });
      const wanted = isOther ? { topicPrefix: prefix, tenants: new Map() } : configured;
      const left = await findLeftOver(admin, wanted, tenant);
      if (!isOther) showList(output, listed);
      else if (left.topics.length === 0) output.line(`no topics under the prefix ${prefix}`);
      if (left.topics.length > 0) showTopicsLeftOver(output, left.topics);
      if (!isOther) showLeftOver(output, { ...left, topics: [] });
      output.data([...listed.map(asJson), ...left.topics.map(leftOverAsJson)]);
      return exitCode({ hasFailed: !findings.every(fits) });
    });
  });
}

interface Listed extends TopicFinding {
  /** Null: the topic does not exist. */
  readonly records: number | null;
}

function asJson({ topic, exists, partitions, differences, curable, records }: Listed): object {
  return {
    topic: topic.name,
    exists,
    partitions,
    wantedPartitions: topic.partitions,
    differences,
    curable,
    recordsAtMost: records,
    notConfigured: null,
  };
}

function fits({ exists, differences }: TopicFinding): boolean {
  return exists && differences.length === 0;
}

function showList(output: Output, listed: readonly Listed[]): void {
  const { colors } = output;
  output.table(
    ['', 'topic', 'partitions', 'records ≤', 'compared with the contract'],
    listed.map((each) => [
      fits(each) ? colors.green('✓') : each.exists ? colors.red('✗') : colors.yellow('!'),
      each.topic.name,
      String(each.partitions ?? '-'),
      each.records === null ? '-' : formatCount(each.records),
      each.exists ? each.differences.join('; ') || 'equal' : 'missing',
    ]),
  );
  output.line();
  if (listed.every(fits)) return output.line(`${colors.green('✓')} ${allFit(listed.length)}`);
  const missing = listed.filter(({ exists }) => !exists).length;
  const differing = listed.filter(({ differences }) => differences.length > 0).length;
  const parts = [
    ...(missing > 0 ? [`${missing} of ${listed.length} missing`] : []),
    ...(differing > 0 ? [`${differing} different`] : []),
  ];
  output.line(`${colors.red('✗')} ${parts.join(', ')}`);
  output.line(
    `${colors.cyan('→')} "rollcall topics apply" creates missing topics and corrects settings; "rollcall run" creates missing topics.`,
  );
  const recounted = topicMismatch(listed.filter(({ curable }) => !curable));
  if (recounted !== null) output.line(`${colors.cyan('→')} ${recounted.remedy}`);
}

function allFit(count: number): string {
  return count === 1 ? 'the topic fits the contract' : `all ${count} topics fit the contract`;
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
