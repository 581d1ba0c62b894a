import { Command } from 'commander';
import { pino } from 'pino';
import { collectionSettings, type Config } from '../config.ts';
import { RollcallError } from '../errors.ts';
import { exitCode } from './exit-code.ts';
import { isCollectionName, sourceOf, type CollectionName } from '../model/collections.ts';
import { assemble, type Assembly } from '../pipeline/assemble.ts';
import type { PipelineEvent } from '../pipeline/events.ts';
import { MOST_KEYS, REPUBLISH, whyNotAgain, type Republished } from '../pipeline/requests/republish.ts';
import { readKnownProgress } from '../log/progress-reader.ts';
import { asOwner } from './as-owner.ts';
import { redactEvents } from './republish/redact-events.ts';
import { chooseTenants, chooseTopic } from './choose.ts';
import type { ProgressLine } from './progress-line.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAdmin } from './with-assembly.ts';
import { countOf, formatCount, printable } from './words.ts';

interface RepublishFlags {
  readonly tenant?: string | undefined;
  readonly key?: string[] | undefined;
  readonly dryRun?: boolean | undefined;
  readonly redact?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

/** `rollcall republish`: rows again, for consumers who lost theirs. */
export function republishCommand(): Command {
  return new Command('republish')
    .description(
      'Publishes rows again although they have not changed, for consumers who lost theirs and cannot read the topic ' +
        'from its beginning. Each is asked for at the hub; its record has a new ce_id, says "updated", and has the ' +
        'same content-hash. A key that the hub does not have is told, and stays as it is.',
    )
    .argument('<collection>', 'any but rejects and progress; absence-changes only with --redact')
    .option('--key <key...>', 'only these keys')
    .option('--tenant <id>', 'only this tenant')
    .option('--dry-run', 'only tell how many it would be')
    .option('--redact', 'of absence-changes: take out what the configuration drops or pseudonymises by now')
    .option('--yes', 'with --redact: do it; else it is only counted')
    .addHelpText(
      'after',
      `
A whole collection is read by a full pass, which publishes what has changed and removes what is gone, too, guarded as
ever; so are single keys where the hub cannot be asked for them. Of schedules only the days that are mirrored now and
have not changed are published. Keys are record keys: of schedules <student>|<YYYY-MM-DD>.

With --redact the last event of each absence that holds more than the configuration shows by now is published again
without it: the same step, as a snapshot, so that nobody is notified. Kafka's compaction then takes the older events.

Exit codes: 0 done; 1 a key is not at the hub, or the hub's list was suspect; 3 removals wait for a person, or --yes is
missing.

Examples:
  rollcall republish users --dry-run
  rollcall republish users --key 42 --key 43
  rollcall republish absences --tenant north
  rollcall republish absence-changes --redact --yes`,
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
  const emit = (tenant: string, event: PipelineEvent): void => {
    if (event.type === 'pass-page') {
      progress.update(`${tenant}: ${event.collection} ${formatCount(event.stats.rowsSeen)}`);
    }
  };
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
    const told = await asOwner(assembly, { tenantId, request: REPUBLISH, parameters, progress, signal });
    results.push({ tenant: tenantId, known, ...told });
    show(progress, { tenantId, collection, told });
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
    throw new RollcallError('USAGE_INVALID', `${topic} is not published again`, {
      remedy: 'It is told by Rollcall itself, not by the hub: read the topic from its beginning.',
    });
  }
  const refused = whyNotAgain(topic);
  if (refused !== null) throw refused;
  return topic;
}

function mirroring(config: Config, collection: CollectionName, tenant: string | undefined): string[] {
  const chosen = chooseTenants(config, tenant).filter((each) => collectionSettings(each, collection).enabled);
  if (chosen.length > 0) return chosen.map(({ id }) => id);
  throw new RollcallError('USAGE_INVALID', `${collection} is not mirrored`, {
    remedy: 'Enable it under tenants.collections, or name another collection.',
  });
}

function tooManyKeys(): RollcallError {
  return new RollcallError('USAGE_INVALID', `More than ${MOST_KEYS} keys were named`, {
    remedy: 'Publish the whole collection again, or name fewer at a time.',
  });
}

/** As of the last complete full pass; null before there was one. */
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
  { tenantId, collection, told }: { tenantId: string; collection: CollectionName; told: Republished },
): void {
  progress.print(`${tenantId}: ${countOf(told.published, 'key')} of ${collection} published`);
  if (told.why !== null) {
    progress.print(`✗ ${told.why}\n→ Not all rows may have been met: look at what the hub answers.`);
  }
  if (told.withheld > 0) {
    progress.print(
      `! ${countOf(told.withheld, 'row')} gone at the hub and not published; the removal waits for a person\n→ rollcall deletes list`,
    );
  }
  const { missing } = told;
  if (missing.length === 0) return;
  const shown = missing.slice(0, SHOWN_AT_MOST).map(printable).join(', ');
  const more = missing.length > SHOWN_AT_MOST ? `, and ${missing.length - SHOWN_AT_MOST} more` : '';
  const what =
    collection === 'schedules' ? 'no lessons to mirror, or others than are known' : 'not at the hub';
  progress.print(
    `✗ ${what}: ${shown}${more}\n→ Nothing was removed; the next full pass sees to what is gone.`,
  );
}
