import { createInterface } from 'node:readline/promises';
import { wrapped } from '../help-text.ts';
import { Command } from 'commander';
import { pino } from 'pino';
import type { Config } from '../../config.ts';
import { EXIT, exitCode } from '../exit-code.ts';
import { assemble, type Assembly } from '../../session/assemble.ts';
import { PURGE, type Purged } from '../../owner/purge.ts';
import { asOwner } from '../as-owner.ts';
import type { CountedTopic } from '../left-over/find-left-over.ts';
import type { Output } from '../output.ts';
import type { ProgressLine } from '../progress-line.ts';
import { verbAction, type VerbContext, type VerbInput } from '../verb-action.ts';
import { countOf, formatCount, printable } from '../../core/words.ts';
import { deleteTopics, purgeTenants } from './delete-topics.ts';
import { findTarget, type Found } from './find-target.ts';
import { purgeTarget, type PurgeFlags, type PurgeTarget } from './purge-target.ts';

const HELP = `
Name what to purge. The configuration must no longer want it:
  --tenant north --collection results    a disabled collection: its topic and subject, its records in progress and
                                         rejects, its index
  --tenant south                         a tenant that is not configured
  --prefix old [--tenant north]          topics under an earlier kafka.topicPrefix

The command first shows what it will remove, and removes it when you have typed the name, or at once with --yes. It does
not ask the hub, and the records cannot be restored; if the configuration wants them again, a first load follows. If a
process runs for the tenant, that process removes the records; this command deletes topics and subjects, which needs the
right to do so. An interrupted command can be given again.

Exit codes: 0 it is removed; 1 it failed; 2 the configuration still wants it; 3 it was not confirmed.`;

/** `rollcall topics purge`: removes what the configuration no longer wants. */
export function purgeCommand(): Command {
  return new Command('purge')
    .description(
      'Removes permanently what you name and the configuration no longer wants, after a confirmation.',
    )
    .option('--tenant <id>', 'the tenant')
    .option('--collection <name...>', 'disabled collections of the tenant')
    .option('--prefix <prefix>', 'an earlier kafka.topicPrefix')
    .option('--yes', 'without asking')
    .addHelpText('after', wrapped(HELP))
    .action(verbAction<PurgeFlags>(purge));
}

async function purge(context: VerbContext, { options: flags }: VerbInput<PurgeFlags>): Promise<number> {
  const config = context.loadConfig();
  const { output, signal } = context;
  const target = purgeTarget(config, flags);
  await using assembly = quietAssembly(config, target);
  const found = await findTarget(assembly, target, signal);
  if (found.isNothing) {
    output.line(`${output.colors.green('✓')} nothing is left of ${printable(target.name)}`);
    output.data({ confirmed: null, topics: [], rejects: 0 });
    return EXIT.ok;
  }
  showPlan(output, found);
  if (flags.yes !== true && !(await isTyped(target.name, signal))) {
    output.note(`! Not confirmed: nothing was removed\n→ Type the name at a terminal, or add --yes.`);
    output.data({
      confirmed: false,
      topics: found.topics.map(({ topic }) => topic),
    });
    return exitCode({ needsPerson: true });
  }
  const progress = output.progress();
  const removed = await remove(assembly, { target, found, progress, signal });
  progress.end();
  showRemoved(output, found, removed);
  output.data({ confirmed: true, topics: found.topics.map(({ topic }) => topic), ...removed });
  return EXIT.ok;
}

function quietAssembly(config: Config, target: PurgeTarget): Assembly {
  const topicPrefix = target.kind === 'tenants' ? target.topicPrefix : config.kafka.topicPrefix;
  const withPrefix = { ...config, kafka: { ...config.kafka, topicPrefix } };
  return assemble(withPrefix, { logger: pino({ level: 'silent' }), emit: () => undefined });
}

interface Removal {
  readonly target: PurgeTarget;
  readonly found: Found;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** Deletes topics last: after an interruption they still show what is left over. */
async function remove(assembly: Assembly, { target, found, progress, signal }: Removal): Promise<Purged> {
  if (target.kind === 'tenants') {
    await purgeTenants(assembly, { topics: found.topics, progress, signal });
    return { rejects: 0 };
  }
  const { tenantId } = target;
  const parameters = { collections: [...target.collections] };
  const removed = await asOwner(assembly, { tenantId, request: PURGE, parameters, progress, signal });
  await deleteTopics(assembly, { topics: found.topics, progress, signal });
  return removed;
}

/** Whether a person typed the name; false without a terminal. */
async function isTyped(name: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return false;
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const typed = await lines.question(`Type ${printable(name)} to remove this permanently: `, { signal });
    return typed.trim() === name;
  } finally {
    lines.close();
  }
}

function showPlan(output: Output, { topics, target, inProgress }: Found): void {
  output.line(`To be removed permanently, without asking the hub:`);
  if (topics.length > 0) showTopics(output, topics);
  if (target.kind === 'collections') {
    const names = target.collections.join(', ');
    output.line(`  the records in progress and rejects, and the index, of ${names} of ${target.tenantId}`);
    if (inProgress.length > 0 && topics.length === 0) output.line(`  (the topics are already deleted)`);
  }
  output.line();
}

function showTopics(output: Output, topics: readonly CountedTopic[]): void {
  output.table(
    [{ title: '  topic' }, { title: 'records ≤', align: 'right' }],
    topics.map(({ topic, recordsAtMost }) => [`  ${topic}`, formatCount(recordsAtMost)]),
  );
}

function showRemoved(output: Output, { topics, target }: Found, { rejects }: Purged): void {
  const parts = [
    ...(topics.length > 0 ? [countOf(topics.length, 'topic')] : []),
    ...(rejects > 0 ? [countOf(rejects, 'reject')] : []),
  ];
  const what = parts.length === 0 ? '' : `: ${parts.join(', ')}`;
  output.line(`${output.colors.green('✓')} ${printable(target.name)} is removed${what}`);
}
