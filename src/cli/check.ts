import { Command } from 'commander';
import { enabledCollections } from '../config.ts';
import { countOf } from '../core/words.ts';
import type { Assembly } from '../session/assemble.ts';
import { checkHub } from './check/check-hub.ts';
import { checkKafka, checkRedis, checkRegistry } from './check/check-services.ts';
import { findingLines, findingsOf, ok, summaryLine, type Finding, type Probe } from './check/finding.ts';
import { chooseTenants } from './choose.ts';
import { exitCode } from './exit-code.ts';
import { verbAction, type VerbContext, type VerbInput } from './verb-action.ts';
import { quietAssembly } from './with-assembly.ts';

interface CheckFlags {
  tenant?: string;
}

/** Parts that are checked at the same time, so that time-outs do not add up. Each hub has its own limit of requests. */
const AT_ONCE = 8;

/** `rollcall check`: whether every service is reachable and accepts the credentials. */
export function command(): Command {
  return new Command('check')
    .description(
      'Checks configuration, Kafka, topics, schema registry, Redis and hubs, and reports all findings at once, each with ' +
        'a remedy. It changes nothing.',
    )
    .option('--tenant <id>', "this tenant's hub, topics and schemas only")
    .addHelpText(
      'after',
      `
  ✓ right   ! works, but worth knowing   ✗ must be fixed

Exit codes: 0 nothing failed; 1 something failed; 2 the configuration has mistakes (all of them are listed).`,
    )
    .action(verbAction(check));
}

async function check(context: VerbContext, { options }: VerbInput<CheckFlags>): Promise<number> {
  const { output, signal, configPath } = context;
  const { colors } = output;
  const config = context.loadConfig();
  const all: (Finding & { section: string; tenant?: string })[] = [];
  await using assembly = quietAssembly(config);
  const probes = probesOf(assembly, { tenant: options.tenant, configPath, signal });
  for (let at = 0; at < probes.length; at += AT_ONCE) {
    const some = probes.slice(at, at + AT_ONCE).map((probe) => ({ probe, found: findingsOf(probe) }));
    for (const { probe, found } of some) {
      const { title: section, tenant } = probe;
      const findings = await found;
      signal.throwIfAborted();
      for (const line of findingLines(section, findings, colors)) output.line(line);
      for (const each of findings) all.push({ section, ...(tenant && { tenant }), ...each });
    }
  }
  output.line(summaryLine(all, colors));
  const hasFailed = all.some(({ level }) => level === 'failure');
  output.data({ ok: !hasFailed, findings: all });
  return exitCode({ hasFailed });
}

function probesOf(
  assembly: Assembly,
  options: { tenant: string | undefined; configPath: string; signal: AbortSignal },
): Probe[] {
  const { configPath, signal } = options;
  const tenants = chooseTenants(assembly.config, options.tenant);
  const assembled = tenants.map(({ id }) => assembly.tenant(id));
  const collections = tenants.flatMap(enabledCollections).length;
  const text = `${countOf(tenants.length, 'tenant')}, ${countOf(collections, 'collection')}`;
  return [
    {
      title: 'Configuration',
      async *findings() {
        yield ok(configPath, text);
      },
    },
    { title: 'Kafka', findings: () => checkKafka(assembly, assembled) },
    { title: 'Schema registry', findings: () => checkRegistry(assembly, assembled, signal) },
    { title: 'Redis', findings: () => checkRedis(assembly) },
    ...tenants.map((tenant) => ({
      title: `Hub of ${tenant.id}  ${tenant.hub.baseUrl}`,
      tenant: tenant.id,
      findings: () => checkHub(tenant, signal),
    })),
  ];
}
