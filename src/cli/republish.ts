import { Command } from 'commander';
import { countOf, printable } from '../core/words.ts';
import { COLLECTIONS, type CollectionName } from '../model/collections.ts';
import { REPUBLISH, type Republished } from '../owner/republish.ts';
import { assemble } from '../session/assemble.ts';
import { asOwner } from './as-owner.ts';
import { choose, chooseFrom, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import { showSyncs } from './outcomes.ts';
import type { Output } from './output.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** `rollcall republish`: publishes rows again although they have not changed. */
export function command(): Command {
  return new Command('republish')
    .description(
      'Runs a full sync that also publishes rows that have not changed, for consumers that lost their copy.',
    )
    .argument('<collection>', 'a collection, but not rejects or progress')
    .option('--key <key...>', 'only these keys')
    .option('--tenant <id>', 'only this tenant')
    .addHelpText(
      'after',
      `
The full sync also publishes changes, and the collection's rejects. For absence-changes, it publishes the last event of each
absence again: the same step, marked as a snapshot, so that consumers notify nobody. The settings "drop" and "pseudonymise" are
applied to the event as they are now. Kafka's compaction then removes the older events. Inform the consumers first.

Exit codes: 0 done; 1 a key is not at the hub, or the hub's list was inconclusive; 3 removals need a decision.

Examples:
  rollcall republish users --key 42 --key 43
  rollcall republish absence-changes --tenant north`,
    )
    .action(verbAction(republish));
}

async function republish(verb: Verb<Scope & { readonly key?: string[] }>): Promise<number> {
  const { output, signal, args, flags } = verb;
  const config = verb.loadConfig();
  const collection = chooseFrom('collection', args[0] ?? '', COLLECTIONS);
  const { tenants } = choose(config, { tenant: flags.tenant, collection: [collection] });
  const keys = [...new Set(flags.key ?? [])];
  await using assembly = assemble(config, (_tenant, event) => showSyncs(output, event));
  const results: ({ tenant: string } & Republished)[] = [];
  for (const { id: tenant } of tenants.filter(({ collections }) => collections[collection].enabled)) {
    const parameters = { collection, keys };
    const options = { tenantId: tenant, request: REPUBLISH, parameters, output, signal };
    results.push({ tenant, ...(await asOwner(assembly, options)) });
  }
  for (const each of results) show(output, collection, each);
  output.data({ collection, tenants: results });
  const hasFailed = results.some(({ missing, why }) => missing.length > 0 || why !== null);
  return exitCode({ hasFailed, needsPerson: results.some(({ rowsOnHold }) => rowsOnHold > 0) });
}

function show(
  output: Output,
  collection: CollectionName,
  { tenant, published, why, rowsOnHold, missing }: { tenant: string } & Republished,
): void {
  output.note(`${tenant}: ${collection}: ${countOf(published, 'key')} published`);
  if (why !== null) output.note(`✗ ${why}\n→ Some rows may be missing: check what the hub answers.`);
  if (rowsOnHold > 0)
    output.note(
      `! not published again, because the hub no longer has them: ${countOf(rowsOnHold, 'row')}. Their removal needs a decision\n→ rollcall deletes list --tenant ${tenant}`,
    );
  if (missing.length > 0)
    output.note(
      `✗ not found: ${missing.map(printable).join(', ')}\n→ Compare them with the keys in the topic: rollcall tail ${collection} --tenant ${tenant} --to-end`,
    );
}
