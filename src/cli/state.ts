import { Command } from 'commander';
import { formatCount } from '../core/words.ts';
import { sourceOf } from '../model/collections.ts';
import { REBUILD, type RebuiltIndex } from '../owner/rebuild.ts';
import { assemble } from '../session/assemble.ts';
import { asOwner } from './as-owner.ts';
import { choose, type Scope } from './choose.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall state rebuild`: drops the index, and rebuilds it from the topics. */
export function command(): Command {
  const rebuilding = new Command('rebuild')
    .description(
      'Drops the index and rebuilds it from the topics, one collection after another. Publishes nothing.',
    )
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .addHelpText(
      'after',
      `
Use it when "rollcall verify" reports that the index differs from the topics. An index that is behind, lost or from another
Kafka needs no command: the next "rollcall run" brings it up to date.`,
    )
    .action(verbAction(rebuild));
  return new Command('state')
    .description('Rebuilds the index in Redis from the topics.')
    .addCommand(rebuilding.summary('rebuild the index from the topics'));
}

async function rebuild({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<void> {
  const config = loadConfig();
  const { tenants, collections: named } = choose(config, flags);
  const collections = [...new Set(named.map(sourceOf))];
  const parameters = { collections };
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
