import { pino } from 'pino';
import { collectionSettings, type Config } from '../../config.ts';
import { RollcallError } from '../../errors.ts';
import { EXIT, exitCode } from '../exit-code.ts';
import { assemble } from '../../pipeline/assemble.ts';
import { REDACT } from '../../pipeline/requests/redact.ts';
import { asOwner } from '../as-owner.ts';
import { chooseTenants } from '../choose.ts';
import type { VerbContext } from '../verb-action.ts';
import { countOf } from '../../core/words.ts';

interface RedactFlags {
  readonly tenant?: string | undefined;
  readonly key?: readonly string[] | undefined;
  readonly dryRun?: boolean | undefined;
  readonly yes?: boolean | undefined;
}

/** `rollcall republish absence-changes --redact`: applies the mapping in force to published events. */
export async function redactEvents(
  context: VerbContext,
  collection: string,
  flags: RedactFlags,
): Promise<number> {
  if (collection !== 'absence-changes' || flags.key !== undefined) throw onlyAllEvents();
  const { output, signal } = context;
  const config = context.loadConfig();
  const isDryRun = flags.dryRun === true || flags.yes !== true;
  const progress = output.progress();
  await using assembly = assemble(config, { logger: pino({ level: 'silent' }), emit: () => undefined });
  const results: { tenant: string; absences: number }[] = [];
  for (const tenantId of mirroringAbsences(config, flags.tenant)) {
    const { absences } = await asOwner(assembly, {
      tenantId,
      request: REDACT,
      parameters: { isDryRun },
      progress,
      signal,
    });
    results.push({ tenant: tenantId, absences });
    const events = `${countOf(absences, 'event')} of absence-changes`;
    progress.print(`${tenantId}: ${events} ${isDryRun ? 'would be published again' : 'published again'}`);
  }
  progress.end();
  output.data({ collection, confirmed: !isDryRun, tenants: results });
  const isMeant = flags.dryRun !== true && isDryRun && results.some(({ absences }) => absences > 0);
  if (!isMeant) return EXIT.ok;
  output.note(
    '! Not confirmed: nothing was published\n→ Inform the consumers of absence-changes, then add --yes.',
  );
  return exitCode({ needsPerson: true });
}

function onlyAllEvents(): RollcallError {
  return new RollcallError('USAGE_INVALID', '--redact applies to all of absence-changes only', {
    remedy: 'A full sync applies the configuration to every other topic: rollcall pull --full.',
  });
}

function mirroringAbsences(config: Config, tenant: string | undefined): string[] {
  const chosen = chooseTenants(config, tenant).filter(
    (each) => collectionSettings(each, 'absence-changes').enabled,
  );
  if (chosen.length > 0) return chosen.map(({ id }) => id);
  throw new RollcallError(
    'USAGE_INVALID',
    `absence-changes are not mirrored for ${tenant === undefined ? 'any tenant' : `tenant ${tenant}`}`,
    {
      remedy: 'Enable them under tenants.collections.',
    },
  );
}
