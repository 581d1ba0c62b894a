import { Command } from 'commander';
import type { TenantConfig } from '../config.ts';
import { enabledCollections } from '../config.ts';
import { exitCode } from './exit-code.ts';
import type { Assembly } from '../pipeline/assemble.ts';
import { checkHub } from './check/check-hub.ts';
import { checkKafka } from './check/check-kafka.ts';
import { checkRedis } from './check/check-redis.ts';
import { checkRegistry } from './check/check-registry.ts';
import { failureOf, findingLines, hasFailure, ok, type Section } from './check/finding.ts';
import { chooseTenants } from './choose.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAssembly } from './with-assembly.ts';
import { countOf } from './words.ts';

interface CheckFlags {
  tenant?: string;
}

/** Hubs looked at together; each has its own bound on requests. */
const HUBS_AT_ONCE = 8;

/** `rollcall check`: is everything there, and does it let us in? */
export function checkCommand(): Command {
  return new Command('check')
    .description(
      'Looks at configuration, Kafka, topics, schema registry, Redis and hubs, and tells everything it finds at once,\n' +
        'each with what to do about it. It changes nothing anywhere.',
    )
    .option('--tenant <id>', "this tenant's hub, topics and schemas only")
    .addHelpText(
      'after',
      `
  ✓ as it should be   ! works, but worth knowing   ✗ must be cured

Ends with 1 if something failed, with 2 if the configuration has mistakes (all of them are listed).`,
    )
    .action(verbAction(check));
}

async function check(context: VerbContext, { options }: VerbInput<CheckFlags>): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig();
  const tenants = chooseTenants(config, options.tenant);
  const progress = output.progress();
  if (process.stderr.isTTY) progress.update('looking at Kafka, registry, Redis and hubs …');
  const sections = await withAssembly(config, (assembly) =>
    lookAtAll(assembly, { tenants, configPath: context.configPath, signal }),
  );
  progress.end();
  const { columns } = process.stdout;
  for (const line of findingLines(sections, { colors: output.colors, columns })) output.line(line);
  const failed = hasFailure(sections);
  output.data({
    ok: !failed,
    findings: sections.flatMap(({ title, tenant, findings }) =>
      findings.map((finding) => ({
        section: title,
        ...(tenant === undefined ? {} : { tenant }),
        ...finding,
      })),
    ),
  });
  return exitCode({ hasFailed: failed });
}

/** All at the same time, so that what is away costs its time-out once; told in a fixed order. */
async function lookAtAll(
  assembly: Assembly,
  options: { tenants: readonly TenantConfig[]; configPath: string; signal: AbortSignal },
): Promise<Section[]> {
  const { tenants, configPath, signal } = options;
  const assembled = tenants.map(({ id }) => assembly.tenant(id));
  const guarded = async (title: string, work: Promise<Section>): Promise<Section> =>
    work.catch((error: unknown): Section => {
      signal.throwIfAborted();
      return { title, findings: [failureOf('check', error)] };
    });
  const services = Promise.all([
    guarded('Kafka', checkKafka(assembly, assembled)),
    guarded('Schema registry', checkRegistry(assembly.config, { tenants: assembled, signal })),
    guarded('Redis', checkRedis(assembly.config, assembly.store)),
  ]);
  const hubs: Section[] = [];
  for (let at = 0; at < tenants.length; at += HUBS_AT_ONCE) {
    const some = tenants.slice(at, at + HUBS_AT_ONCE);
    hubs.push(
      ...(await Promise.all(some.map((tenant) => guarded(`Hub of ${tenant.id}`, checkHub(tenant, signal))))),
    );
  }
  return [configSection(configPath, tenants), ...(await services), ...hubs];
}

function configSection(path: string, tenants: readonly TenantConfig[]): Section {
  const collections = tenants.reduce((sum, tenant) => sum + enabledCollections(tenant).length, 0);
  const text = `${countOf(tenants.length, 'tenant')}, ${countOf(collections, 'collection')}`;
  return { title: 'Configuration', findings: [ok(path, text)] };
}
