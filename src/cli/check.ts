import { Command } from 'commander';
import { wrapped } from './help-text.ts';
import type { TenantConfig } from '../config.ts';
import { enabledCollections } from '../config.ts';
import { exitCode } from './exit-code.ts';
import type { Assembly } from '../session/assemble.ts';
import { checkHub } from './check/check-hub.ts';
import { checkKafka } from './check/check-kafka.ts';
import { checkRedis } from './check/check-redis.ts';
import { checkRegistry } from './check/check-registry.ts';
import { failureOf, findingLines, hasFailure, ok, type Section } from './check/finding.ts';
import { chooseTenants } from './choose.ts';
import { WorkProgress } from './work-progress.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { withAssembly } from './with-assembly.ts';
import { countOf } from '../core/words.ts';

interface CheckFlags {
  tenant?: string;
}

/** Kafka, registry and Redis. */
const SERVICES = 3;
/** Hubs to check at the same time; each has its own limit of requests. */
const HUBS_AT_ONCE = 8;

/** `rollcall check`: whether every service is reachable and accepts the credentials. */
export function checkCommand(): Command {
  return new Command('check')
    .description(
      'Checks configuration, Kafka, topics, schema registry, Redis and hubs, and reports all findings at once, each with ' +
        'a remedy. It changes nothing.',
    )
    .option('--tenant <id>', "this tenant's hub, topics and schemas only")
    .addHelpText(
      'after',
      wrapped(`
  ✓ right   ! works, but worth knowing   ✗ must be fixed

Exit codes: 0 nothing failed; 1 something failed; 2 the configuration has mistakes (all of them are listed).`),
    )
    .action(verbAction(check));
}

async function check(context: VerbContext, { options }: VerbInput<CheckFlags>): Promise<number> {
  const { output, signal } = context;
  const config = context.loadConfig();
  const tenants = chooseTenants(config, options.tenant);
  const progress = output.progress();
  const bars = new WorkProgress(progress, { title: 'checked', expected: SERVICES + tenants.length });
  const sections = await withAssembly(config, (assembly) =>
    checkAll(assembly, { tenants, configPath: context.configPath, bars, signal }),
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

/** Checks everything at the same time, so that time-outs do not add up; the order of the sections is fixed. */
async function checkAll(
  assembly: Assembly,
  options: {
    tenants: readonly TenantConfig[];
    configPath: string;
    bars: WorkProgress;
    signal: AbortSignal;
  },
): Promise<Section[]> {
  const { tenants, configPath, bars, signal } = options;
  const assembled = tenants.map(({ id }) => assembly.tenant(id));
  const guarded = async (title: string, work: Promise<Section>): Promise<Section> => {
    bars.set(title, { done: 0, of: null });
    const section = await work.catch((error: unknown): Section => {
      signal.throwIfAborted();
      return { title, findings: [failureOf('check', error)] };
    });
    bars.end(title);
    return section;
  };
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
