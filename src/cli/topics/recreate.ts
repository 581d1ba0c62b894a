import { Command } from 'commander';
import { RollcallError } from '../../errors.ts';
import { createMissingTopics, inspectTopics } from '../../log/manage-topics.ts';
import { isCollectionName, topicsBegunWith } from '../../model/collections.ts';
import { requireNoOwner } from '../as-owner.ts';
import { chooseFrom, chooseTenants } from '../choose.ts';
import { EXIT, exitCode } from '../exit-code.ts';
import { wrapped } from '../help-text.ts';
import { verbAction, type VerbContext, type VerbInput } from '../verb-action.ts';
import { withAdmin, withAssembly } from '../with-assembly.ts';
import { deleteAll } from './delete-topics.ts';

interface RecreateFlags {
  readonly tenant?: string | undefined;
  readonly yes?: boolean | undefined;
}

const HELP = `
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
    .addHelpText('after', wrapped(HELP))
    .action(verbAction<RecreateFlags>(recreate));
}

async function recreate(context: VerbContext, input: VerbInput<RecreateFlags>): Promise<number> {
  const { output, signal } = context;
  return withAssembly(context.loadConfig({ withoutHub: true }), async (assembly) => {
    const [tenant, ...others] = chooseTenants(assembly.config, input.options.tenant);
    if (tenant === undefined || others.length > 0)
      throw new RollcallError('USAGE_INVALID', 'There are several tenants', { remedy: 'Add --tenant.' });
    const { topics: all } = assembly.tenant(tenant.id);
    const known = all.map(({ suffix }) => suffix);
    const suffixes = new Set(
      input.args.flatMap((name = '') => topicsBegunWith(chooseFrom('topic', name, known))),
    );
    const topics = all.filter(({ suffix }) => suffixes.has(suffix));
    const names = topics.map(({ name }) => name);
    if (input.options.yes !== true) {
      output.line(`To be deleted with all records, and created again: ${names.join(', ')}`);
      output.note('! Not confirmed: nothing was changed\n→ Add --yes.');
      return exitCode({ needsPerson: true });
    }
    await assembly.store.ready();
    await requireNoOwner(assembly, { tenantId: tenant.id, signal });
    const state = assembly.store.tenant(tenant.id);
    for (const suffix of suffixes) if (isCollectionName(suffix)) await state.forget(suffix);
    const progress = output.progress();
    await withAdmin({ assembly, signal }, async (admin) => {
      // If it is interrupted in between, the next start creates what is missing.
      await deleteAll(admin, names, { progress, signal });
      await createMissingTopics(admin, await inspectTopics(admin, topics));
    });
    progress.end();
    for (const name of names) output.line(`${output.colors.green('✓')} recreated ${name}`);
    output.line(`${output.colors.cyan('→')} "rollcall run" publishes their records again.`);
    output.data(names);
    return EXIT.ok;
  });
}
