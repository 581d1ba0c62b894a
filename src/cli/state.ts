import { Command } from 'commander';
import { formatCount } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { REBUILD, type RebuiltIndex } from '../owner/rebuild.ts';
import { assemble } from '../session/assemble.ts';
import { asOwner, personHere } from './as-owner.ts';
import { choose, type Scope } from './choose.ts';
import { verbAction, type Verb } from './verb-action.ts';

interface RebuildFlags extends Scope {
  readonly reset?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
}

/** `rollcall state rebuild`: drops the index, and rebuilds it from the topics. */
export function command(): Command {
  const rebuilding = new Command('rebuild')
    .description(
      'Drops the index and rebuilds it from the topics, one collection after another. Publishes nothing without "--reset".',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .option('--reset', 'for lost absences: publish a null for every key, and load all absences again')
    .option('--yes', 'confirm "--reset"')
    .option('--reason <text>', 'with "--reset": why; "deletes history" keeps it')
    .addHelpText(
      'after',
      `
Use it when "rollcall verify" reports that the index differs from the topics. An index that is behind, lost or from another
Kafka needs no command: the next "rollcall run" brings it up to date.

Use "--reset" only to resolve ABSENCES_LOST: it publishes a null for every key of absences, absence-changes and
absence-state, and runs a full sync like a first load. Absences may get other ids, steps count from 1, and the events are marked as snapshot.

Example:
  rollcall state rebuild --tenant north --collection absences --reset --yes`,
    )
    .action(verbAction(rebuild));
  return new Command('state')
    .description('Rebuilds the index in Redis from the topics.')
    .addCommand(rebuilding.summary('rebuild the index from the topics'));
}

/** Throws `USAGE_INVALID`. */
function requireConfirmed(collections: readonly CollectionName[], isConfirmed: boolean): void {
  const isOfAbsences = collections.length === 1 && collections[0] === 'absence-versions';
  if (isOfAbsences && isConfirmed) return;
  throw new RollcallError(
    'USAGE_INVALID',
    '--reset publishes a null for every key of absences, absence-changes and absence-state',
    {
      remedy:
        'If you want to do this, add "--collection absences" and "--yes". Consumers then see all absences again, as in a first load.',
    },
  );
}

async function rebuild({ output, signal, loadConfig, flags }: Verb<RebuildFlags>): Promise<void> {
  const config = loadConfig();
  const { tenants, collections: named } = choose(config, flags);
  const collections = [...new Set(named.map(sourceOf))];
  const { reset = false, yes = false } = flags;
  if (reset) requireConfirmed(collections, yes);
  const parameters = { collections, reset, person: personHere(flags.reason) };
  const rebuilt: ({ readonly tenant: string } & RebuiltIndex)[] = [];
  await using assembly = assemble(config);
  for (const { id: tenant } of tenants) {
    const request = { tenantId: tenant, request: REBUILD, parameters, output, signal };
    for (const index of await asOwner(assembly, request)) rebuilt.push({ tenant, ...index });
  }
  output.table(
    ['tenant', 'rebuilt', 'rows', 'rejects'],
    rebuilt.map(({ tenant, collection, rows, rejects }) => [
      tenant,
      collection,
      formatCount(rows),
      formatCount(rejects),
    ]),
  );
  output.data({ collections: rebuilt });
}
