import { Command } from 'commander';
import { wrapped } from '../help-text.ts';
import { pino } from 'pino';
import { syncedCollections } from '../../config.ts';
import { sourceOf } from '../../model/collections.ts';
import { assemble } from '../../pipeline/assemble.ts';
import { REBUILD, type RebuiltIndex } from '../../pipeline/requests/rebuild.ts';
import { asOwner } from '../as-owner.ts';
import { chooseCollection, chooseTenants } from '../choose.ts';
import type { Output } from '../output.ts';
import { ProgressBars } from '../progress-bars.ts';
import { verbAction, type VerbContext } from '../verb-action.ts';
import { formatCount } from '../../core/words.ts';

interface RebuildFlags {
  readonly tenant?: string | undefined;
  readonly collection?: string[] | undefined;
}

/** `rollcall state rebuild`: drops the index and rebuilds it from the topics. */
export function rebuildCommand(): Command {
  return new Command('rebuild')
    .description(
      'Drops the index and rebuilds it from the topics, one collection after another. Publishes nothing. If a process ' +
        'runs for the tenant, that process does the work, and mirrors the other collections meanwhile; otherwise this ' +
        'command owns the tenant meanwhile.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .addHelpText(
      'after',
      wrapped(`
Rarely needed: Rollcall itself brings an index up to date that is behind, lost, or of another log. This command is for
an index that differs from the topics in another way: "rollcall verify" reports that as "index".

Examples:
  rollcall state rebuild --tenant north
  rollcall state rebuild --collection users enrollments`),
    )
    .action(verbAction<RebuildFlags>((context, { options }) => rebuild(context, options)));
}

async function rebuild(context: VerbContext, flags: RebuildFlags): Promise<void> {
  const { output, signal } = context;
  const config = context.loadConfig();
  const collections = [...new Set((flags.collection ?? []).map(chooseCollection).map(sourceOf))];
  if (config.redis === undefined) {
    output.line(
      'There is no stored index: no Redis is configured, so each start builds the index from the topics.',
    );
    output.data({ lasting: false, tenants: [] });
    return;
  }
  const progress = output.progress();
  await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
  const results: { tenant: string; collections: readonly RebuiltIndex[] }[] = [];
  for (const tenant of chooseTenants(config, flags.tenant)) {
    const { id } = tenant;
    const expected = collections.length > 0 ? collections.length : syncedCollections(tenant).length;
    const bars = new ProgressBars(progress, { title: `${id}: collections`, expected });
    const rebuilt = await asOwner(assembly, {
      tenantId: id,
      request: REBUILD,
      parameters: { collections },
      progress,
      onReport: (report) => {
        const { collection, done } = report as { collection?: string; done?: number };
        bars.endElsewhere(done ?? 0, collection);
      },
      signal,
    });
    results.push({ tenant: id, collections: rebuilt });
  }
  progress.end();
  for (const result of results) show(output, result);
  output.data({ tenants: results });
}

function show(
  output: Output,
  { tenant, collections }: { tenant: string; collections: readonly RebuiltIndex[] },
): void {
  output.line(output.colors.bold(tenant));
  output.table(
    [
      { title: '  collection' },
      ...['rows', 'before', 'rejects', 'before'].map((title) => ({ title, align: 'right' as const })),
    ],
    collections.map(({ collection, rows, rowsBefore, rejects, rejectsBefore }) => [
      `  ${collection}`,
      ...[rows, rowsBefore, rejects, rejectsBefore].map(formatCount),
    ]),
  );
}
