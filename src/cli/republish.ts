import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import { pino } from 'pino';
import { collectionSettings, type Config } from '../config.ts';
import { RollcallError } from '../errors.ts';
import { exitCode } from './exit-code.ts';
import { isCollectionName, sourceOf, type CollectionName } from '../model/collections.ts';
import { assemble, type Assembly } from '../pipeline/assemble.ts';
import type { PipelineEvent } from '../pipeline/pipeline-events.ts';
import {
  MOST_KEYS,
  REPUBLISH,
  whyNotRepublishable,
  type Republished,
} from '../pipeline/requests/republish.ts';
import { readKnownProgress } from '../log/progress-reader.ts';
import { asOwner } from './as-owner.ts';
import { redactEvents } from './republish/redact-events.ts';
import { chooseTenants, chooseTopic } from './choose.ts';
import { ProgressBars } from './progress-bars.ts';
import type { ProgressLine } from './progress-line.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin } from './with-assembly.ts';
import { countOf, printable } from '../core/words.ts';

interface RepublishFlags {
  readonly tenant?: string | undefined;
  readonly key?: string[] | undefined;
  readonly dryRun?: boolean | undefined;
  readonly redact?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

/** `rollcall republish`: publishes unchanged rows, for consumers that lost theirs. */
export function republishCommand(): Command {
  return new Command('republish')
    .description(
      'Publishes rows again although they have not changed, for consumers that lost theirs and cannot read the topic ' +
        'from its beginning. Rollcall requests each row from the hub; its record has a new ce_id, the type "updated" ' +
        'and the same content-hash. A key that the hub does not have is reported, and its record does not change.',
    )
    .argument('<collection>', 'any but rejects and progress; absence-changes only with --redact')
    .option('--key <key...>', 'only these keys')
    .option('--tenant <id>', 'only this tenant')
    .option('--dry-run', 'only count the rows')
    .option('--redact', 'for absence-changes: remove what the configuration now drops or pseudonymises')
    .option('--yes', 'with --redact: publish; without it, the command only counts')
    .addHelpText(
      'after',
      wrapped(`
Without --key, a full sync reads the collection; it also publishes changes, and removes rows that left the hub, subject
to the guard. A full sync also reads single keys if the hub has no request for a single row. Of schedules, only days
that are mirrored now and have not changed are published. Keys are record keys: for schedules <student>|<YYYY-MM-DD>.

With --redact, Rollcall publishes the last event of each absence again if it holds more than the configuration now
shows: the same step, as a snapshot, so that consumers notify no one. Kafka's compaction then removes the older events.

Exit codes: 0 done; 1 a key is not at the hub, or the hub's list was inconclusive; 3 removals need a decision, or --yes
is missing.

Examples:
  rollcall republish users --dry-run
  rollcall republish users --key 42 --key 43
  rollcall republish absences --tenant north
  rollcall republish absence-changes --redact --yes`),
    )
    .action(verbAction<RepublishFlags>(republish));
}

async function republish(
  context: VerbContext,
  { args, options: flags }: VerbInput<RepublishFlags>,
): Promise<number> {
  if (flags.redact === true) return redactEvents(context, args[0] ?? '', flags);
  const collection = republishable(args[0] ?? '');
  const { output, signal } = context;
  const config = context.loadConfig();
  const keys = [...new Set(flags.key ?? [])];
  if (keys.length > MOST_KEYS) throw tooManyKeys();
  const tenants = mirroring(config, collection, flags.tenant);
  const progress = output.progress();
  const bars = new ProgressBars(progress, { title: 'tenants', expected: tenants.length });
  const emit = (_tenant: string, event: PipelineEvent): void => bars.note(event);
  await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit });
  const results: ({ tenant: string; known: number | null } & Partial<Republished>)[] = [];
  for (const tenantId of tenants) {
    const known = keys.length > 0 ? keys.length : await knownKeys(assembly, { tenantId, collection, signal });
    const count = known === null ? 'all rows' : countOf(known, 'key');
    if (flags.dryRun === true) {
      output.line(`${tenantId}: ${count} of ${collection} would be published again`);
      results.push({ tenant: tenantId, known });
      continue;
    }
    progress.print(`${tenantId}: ${count} of ${collection} to be published again`);
    const parameters = { collection, keys };
    const republished = await asOwner(assembly, {
      tenantId,
      request: REPUBLISH,
      parameters,
      progress,
      signal,
    });
    results.push({ tenant: tenantId, known, ...republished });
    show(progress, { tenantId, collection, republished });
  }
  progress.end();
  output.data({ collection, tenants: results });
  return exitCode({
    hasFailed: results.some(({ missing = [], why = null }) => missing.length > 0 || why !== null),
    needsPerson: results.some(({ withheld = 0 }) => withheld > 0),
  });
}

/** Throws `USAGE_INVALID`. */
function republishable(name: string): CollectionName {
  const topic = chooseTopic(name);
  if (!isCollectionName(topic)) {
    throw new RollcallError('USAGE_INVALID', `${topic} cannot be republished`, {
      remedy: 'Its records come from Rollcall, not from the hub: read the topic from its beginning.',
    });
  }
  const refused = whyNotRepublishable(topic);
  if (refused !== null) throw refused;
  return topic;
}

function mirroring(config: Config, collection: CollectionName, tenant: string | undefined): string[] {
  const chosen = chooseTenants(config, tenant).filter((each) => collectionSettings(each, collection).enabled);
  if (chosen.length > 0) return chosen.map(({ id }) => id);
  throw new RollcallError(
    'USAGE_INVALID',
    `${collection} is not mirrored for ${tenant === undefined ? 'any tenant' : `tenant ${tenant}`}`,
    {
      remedy: 'Enable it under tenants.collections, or name another collection.',
    },
  );
}

function tooManyKeys(): RollcallError {
  return new RollcallError('USAGE_INVALID', `More than ${MOST_KEYS} keys were named`, {
    remedy: 'Republish the collection without --key, or name fewer keys at a time.',
  });
}

/** The number of rows in the last complete full sync; null before the first. */
async function knownKeys(
  assembly: Assembly,
  options: { tenantId: string; collection: CollectionName; signal: AbortSignal },
): Promise<number | null> {
  const { tenantId, collection, signal } = options;
  const { kafka, registry, config } = assembly;
  const { topicPrefix } = config.kafka;
  const known = await withAdmin({ assembly, signal }, (admin) =>
    readKnownProgress({ kafka, admin, registry, topicPrefix, tenantIds: [tenantId], signal }),
  );
  const progress = known.get(tenantId)?.progress;
  const own = progress?.get(collection) ?? progress?.get(sourceOf(collection));
  return own?.lastCompleteFull?.rows ?? null;
}

const SHOWN_AT_MOST = 20;

function show(
  progress: ProgressLine,
  {
    tenantId,
    collection,
    republished,
  }: { tenantId: string; collection: CollectionName; republished: Republished },
): void {
  const { published, why, withheld, missing } = republished;
  progress.print(`${tenantId}: ${countOf(published, 'key')} of ${collection} published`);
  if (why !== null) {
    progress.print(`✗ ${why}\n→ Some rows may be missing: check what the hub answers.`);
  }
  if (withheld > 0) {
    progress.print(
      `! ${countOf(withheld, 'row')} not at the hub and not published; the removal needs a decision\n→ rollcall deletes list`,
    );
  }
  if (missing.length === 0) return;
  const shown = missing.slice(0, SHOWN_AT_MOST).map(printable).join(', ');
  const more = missing.length > SHOWN_AT_MOST ? `, and ${missing.length - SHOWN_AT_MOST} more` : '';
  const what =
    collection === 'schedules' ? 'no lessons to mirror, or lessons that have changed' : 'not at the hub';
  progress.print(
    `✗ ${what}: ${shown}${more}\n→ Nothing was removed; the next full sync handles changes and removals.`,
  );
}
