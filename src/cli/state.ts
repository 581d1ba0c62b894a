import { Command } from 'commander';
import { syncedCollections, type Config } from '../config.ts';
import { formatCount } from '../core/words.ts';
import { RollcallError } from '../errors.ts';
import { sourceOf, type CollectionName } from '../model/collections.ts';
import { REBUILD, type RebuiltIndex } from '../owner/rebuild.ts';
import { assemble } from '../session/assemble.ts';
import { asOwner, personHere } from './as-owner.ts';
import { choose, type Scope } from './choose.ts';
import type { Output } from './output.ts';
import { verbAction, type Verb } from './verb-action.ts';
import { readTenantProgress } from './verb-parts.ts';

interface RebuildFlags extends Scope {
  readonly reset?: boolean;
  readonly yes?: boolean;
  readonly reason?: string;
}

/** `rollcall state`: where the index and the log stand, and the request to rebuild the index. */
export function command(): Command {
  return new Command('state')
    .description('Compares the index in Redis with the log in Kafka, and rebuilds the index.')
    .addCommand(
      subcommand('show', 'show the last transaction in the index and in Kafka', showState)
        .description('Shows the last transaction that is in the index, and the last one in Kafka.')
        .addHelpText(
          'after',
          `
An index that is behind, lost or from another Kafka needs no command: the next "rollcall run" brings it up to date.
While a process runs, the index may seem a transaction or two behind, because this command reads Kafka after Redis.`,
        ),
    )
    .addCommand(
      subcommand('rebuild', 'rebuild the index from the topics', rebuild)
        .description(
          'Drops the index and rebuilds it from the topics, one collection after another. Publishes nothing without "--reset".',
        )
        .option('--reset', 'for lost absences: publish a null for every key, and load all absences again')
        .option('--yes', 'confirm "--reset"')
        .option('--reason <text>', 'with "--reset": why; "deletes history" keeps it')
        .addHelpText(
          'after',
          `
Use it when "rollcall verify" reports that the index differs from the topics.

Use "--reset" only to resolve ABSENCES_LOST: it publishes a null for every key of absences, absence-changes and
absence-state, and runs a full sync like a first load. Absences may get other ids, steps count from 1, and the events are marked as snapshot.

Example:
  rollcall state rebuild --tenant north --collection absences --reset --yes`,
        ),
    );
}

function subcommand<Flags extends Scope>(
  name: string,
  summary: string,
  work: (verb: Verb<Flags>) => Promise<void>,
): Command {
  return new Command(name)
    .summary(summary)
    .option('--tenant <id>', 'only this tenant')
    .option('--collection <name...>', 'only these collections')
    .action(verbAction(work));
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

/** Whether the index is stored. If it is not, this says so. */
function isStored(output: Output, { redis }: Config): boolean {
  if (redis !== undefined) return true;
  output.line('There is no stored index: no Redis is configured, so each start builds it from the topics.');
  output.data({ collections: [] });
  return false;
}

async function showState({ output, signal, loadConfig, flags }: Verb<Scope>): Promise<void> {
  const config = loadConfig({ without: 'hub' });
  if (!isStored(output, config)) return;
  const { tenants, collections } = choose(config, flags);
  const only = new Set(collections.map(sourceOf));
  await using assembly = assemble(config);
  const found = [];
  for (const tenant of tenants) {
    for (const { name: collection } of syncedCollections(tenant)) {
      if (only.size > 0 && !only.has(collection)) continue;
      const index = assembly.store.tenant(tenant.id).collection(collection);
      const [rows, rejects] = [await index.count('rows'), await index.count('rejects')];
      found.push({ tenant: tenant.id, collection, index: atOf(await index.position()), rows, rejects });
    }
  }
  // Read the log after the index: an owner that commits meanwhile can only put the log ahead, never behind.
  const logs = await readTenantProgress(assembly, tenants, signal);
  const all = found.map(({ index, ...each }) => {
    const log = atOf(logs.get(each.tenant)?.progress.get(each.collection) ?? null);
    return Object.assign(each, { index, log });
  });
  output.table(
    ['tenant', 'collection', 'index at', 'log at', 'rows', 'rejects'],
    all.map(({ tenant, collection, index, log, rows, rejects }) => [
      tenant,
      collection,
      ...[index, log].map((at) => (at === null ? '-' : `${at.sequence} ${at.transactionId.slice(0, 8)}`)),
      ...[rows, rejects].map(formatCount),
    ]),
  );
  output.data({ collections: all });
}

function atOf(at: { readonly sequence: number; readonly transactionId: string } | null) {
  return at && { sequence: at.sequence, transactionId: at.transactionId };
}

async function rebuild({ output, signal, loadConfig, flags }: Verb<RebuildFlags>): Promise<void> {
  const config = loadConfig();
  const { tenants, collections: named } = choose(config, flags);
  const collections = [...new Set(named.map(sourceOf))];
  const { reset = false, yes = false } = flags;
  if (reset) requireConfirmed(collections, yes);
  else if (!isStored(output, config)) return;
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
