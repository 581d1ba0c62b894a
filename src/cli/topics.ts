import { Command } from 'commander';
import type { Admin } from 'kafkajs';
import { named } from '../core/health/decisions.ts';
import { formatCount } from '../core/words.ts';
import {
  createMissingTopics,
  cureTopics,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
  type WantedTopic,
} from '../log/manage-topics.ts';
import { sleep } from '../runtime.ts';
import type { Assembly } from '../session/assemble.ts';
import { chooseTenants } from './choose.ts';
import { exitCode } from './exit-code.ts';
import {
  countRecords,
  findLeftOver,
  leftOverAsJson,
  showLeftOver,
  wantedUnder,
  type LeftOverTopics,
} from './left-over.ts';
import type { Output } from './output.ts';
import { purgeCommand, recreateCommand } from './topics/delete.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly, withAdmin } from './with-assembly.ts';

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
  return new Command('topics')
    .description('Compares topics with the contract and the configuration, and changes them to fit.')
    .addCommand(list.summary('show every topic and its differences'))
    .addCommand(apply.summary('create missing topics, correct settings'))
    .addCommand(recreateCommand().summary('delete and create topics, with another number of partitions'))
    .addCommand(purgeCommand().summary('delete what the configuration no longer wants'));
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
