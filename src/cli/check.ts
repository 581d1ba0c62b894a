import { readFileSync } from 'node:fs';
import { Command, Option } from 'commander';
import { checkText, enabledCollections, type WrittenConfig } from '../config.ts';
import { ENCRYPT, secretsInClear, UNENCRYPTED, unencrypted } from '../config/clear-text.ts';
import { countOf, printable } from '../core/words.ts';
import { assemble, type Assembly } from '../session/assemble.ts';
import { topicsOf } from '../session/used-in-kafka.ts';
import { checkHub } from './check/check-hub.ts';
import { checkNotify } from './check/check-notify.ts';
import { checkKafka, checkRedis, checkRegistry } from './check/check-services.ts';
import { findingsOf, ok, warning, type Finding, type Probe } from './check/finding.ts';
import { chooseTenants, type Scope } from './choose.ts';
import { exitCode } from './exit-code.ts';
import type { Output } from './output.ts';
import { verbAction, type Verb } from './verb-action.ts';

/** Parts that are checked at the same time, so that time-outs do not add up. Each hub has its own limit of requests. */
const AT_ONCE = 8;

/** `rollcall check`: whether every service is reachable and accepts the credentials. */
export function command(): Command {
  return new Command('check')
    .description(
      'Checks configuration, Kafka, rights, topics, schema registry, Redis and hubs. It changes nothing.',
    )
    .option('--tenant <id>', "check only this tenant's hub, topics and schemas")
    .option('--offline', 'check only the file: contact no service; variables need no values')
    .option('--strict', 'count each warning (!) as a failure')
    .addOption(new Option('--notify', 'also send a test message to notify.url').conflicts('offline'))
    .addHelpText(
      'after',
      `
  ✓ right   - not checked   ! works, but read the remark   ✗ must be fixed

--offline is for a pipeline that has no secrets and cannot reach any service. It lists the variables and files that the
configuration needs, whether they exist or not. Their values are not checked.
--notify sends a message that is marked as a test to notify.url, and checks that the receiver accepts it.
--json prints {"ok": …, "findings": […]}.

Exit codes: 0 nothing failed; 1 something failed (with --strict: or a warning); 2 the configuration has mistakes (all are listed).`,
    )
    .action(verbAction(check));
}

const MARKS = {
  ok: { mark: '✓', color: 'green' },
  unchecked: { mark: '-', color: 'dim' },
  warning: { mark: '!', color: 'yellow' },
  failure: { mark: '✗', color: 'red' },
} as const;

type CheckVerb = Verb<Scope & { readonly [flag in 'offline' | 'strict' | 'notify']?: boolean }>;

async function check(verb: CheckVerb): Promise<number> {
  const { configPath, signal, flags } = verb;
  if (flags.offline === true) {
    const written = checkText({ path: configPath, readFile: (path) => readFileSync(path, 'utf8') });
    const findings = () => findingsOfText(configPath, written);
    return report(verb, [{ title: 'Configuration', findings }]);
  }
  await using assembly = assemble(verb.loadConfig());
  const { tenant, notify = false } = flags;
  return await report(verb, probesOf(assembly, { tenant, isNotified: notify, configPath, signal }));
}

async function* findingsOfText(configPath: string, { needs, value }: WrittenConfig): AsyncGenerator<Finding> {
  yield ok(configPath, 'no mistake in the file; nothing else was looked at');
  for (const need of needs) yield { level: 'unchecked', subject: 'needs', text: need };
  yield* inClear(configPath, value);
}

const IN_CLEAR_REMEDY =
  'Write ${NAME} for an environment variable, or ${file:/path} for a file. Change the secret if others could read this file.';

/** Warns of credentials and rows that others could read, because they are unencrypted on the network or in the file. */
function inClear(configPath: string, config: object): readonly Finding[] {
  const paths = secretsInClear(readFileSync(configPath, 'utf8'));
  return [
    ...unencrypted(config).map((setting) => warning('encryption', `${setting}: ${UNENCRYPTED}`, ENCRYPT)),
    ...paths.map((path) => warning(path, 'the secret is in the file in clear text', IN_CLEAR_REMEDY)),
  ];
}

/** Prints what the probes find, and returns the exit code. */
async function report({ output, signal, flags }: CheckVerb, probes: readonly Probe[]): Promise<number> {
  const { colors } = output;
  const all: (Finding & { section: string; tenant?: string })[] = [];
  for (let at = 0; at < probes.length; at += AT_ONCE) {
    const some = probes.slice(at, at + AT_ONCE).map((probe) => ({ probe, found: findingsOf(probe) }));
    for (const { probe, found } of some) {
      const { title: section, tenant } = probe;
      const findings = await found;
      signal.throwIfAborted();
      const rows = findings.flatMap((each) => rowsOf(each, colors));
      output.table(['', section, ''], rows);
      for (const each of findings) all.push({ section, ...(tenant && { tenant }), ...each });
    }
  }
  const failing = flags.strict === true ? ['failure', 'warning'] : ['failure'];
  const failed = all.filter(({ level }) => failing.includes(level)).length;
  const checks = countOf(all.filter(({ level }) => level !== 'unchecked').length, 'check');
  output.line(
    failed > 0
      ? colors.red(`✗ ${failed} of ${checks} failed${flags.strict === true ? ', including warnings' : ''}`)
      : colors.green(`✓ ${checks}, nothing failed`),
  );
  output.data({ ok: failed === 0, findings: all });
  return exitCode({ hasFailed: failed > 0 });
}

function rowsOf({ level, subject, text, remedy }: Finding, colors: Output['colors']): string[][] {
  const { mark, color } = MARKS[level];
  const [first = '', ...rest] = text.split('\n').map((line) => printable(line.trim()));
  if (remedy !== undefined) rest.push(`${colors.cyan('→')} ${printable(remedy)}`);
  return [[`  ${colors[color](mark)}`, subject, first], ...rest.map((line) => ['', '', line])];
}

function probesOf(
  assembly: Assembly,
  options: { tenant: string | undefined; isNotified: boolean; configPath: string; signal: AbortSignal },
): Probe[] {
  const { configPath, isNotified, signal } = options;
  const tenants = chooseTenants(assembly.config, options.tenant);
  const topics = tenants.flatMap((tenant) => topicsOf(assembly.config, tenant));
  const collections = tenants.flatMap(enabledCollections).length;
  const text = `${countOf(tenants.length, 'tenant')}, ${countOf(collections, 'collection')}`;
  return [
    {
      title: 'Configuration',
      async *findings() {
        yield ok(configPath, text);
        yield* inClear(configPath, { ...assembly.config, tenants });
      },
    },
    { title: 'Kafka', findings: () => checkKafka(assembly, tenants, signal) },
    { title: 'Schema registry', findings: () => checkRegistry(assembly, topics, signal) },
    { title: 'Redis', findings: () => checkRedis(assembly) },
    ...(isNotified || assembly.config.notify !== undefined
      ? [{ title: 'Webhook', findings: () => checkNotify(assembly.config, isNotified) }]
      : []),
    ...tenants.map((tenant) => ({
      title: `Hub of ${tenant.id}  ${tenant.hub.baseUrl}`,
      tenant: tenant.id,
      findings: () => checkHub(tenant, signal),
    })),
  ];
}
