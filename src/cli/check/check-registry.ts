import type { Config } from '../../config.ts';
import type { StartedTenant } from '../../session/tenant.ts';
import { registryConnection } from '../../session/assemble.ts';
import {
  createRegistryInspection,
  type RegistryInspection,
  type SubjectFinding,
} from '../../log/inspect-registry.ts';
import { readOnly } from '../../log/registry-errors.ts';
import { STATE_TOPIC } from '../../model/collections.ts';
import { readSchemaFiles } from '../../log/schema-files.ts';
import { countOf } from '../../core/words.ts';
import { failure, failureOf, ok, warning, type Finding, type Section } from './finding.ts';

/** Checks the registry: connection, compatibility levels, and schemas. Registers nothing. */
export async function checkRegistry(
  config: Config,
  options: { tenants: readonly StartedTenant[]; signal: AbortSignal },
): Promise<Section> {
  const { tenants, signal } = options;
  const title = 'Schema registry';
  const { url } = config.registry;
  const inspection = createRegistryInspection(registryConnection(config.registry));
  const findings: Finding[] = [];
  try {
    const count = await inspection.subjectCount(signal);
    findings.push(ok('connection', `${url}, ${countOf(count, 'subject')}`));
  } catch (error) {
    signal.throwIfAborted();
    return { title, findings: [failureOf('connection', error)] };
  }
  for (const tenant of tenants) {
    const subject = `schemas of ${tenant.config.id}`;
    try {
      findings.push(
        ...subjectFindings(subject, { url, subjects: await inspect(inspection, tenant, signal) }),
      );
    } catch (error) {
      signal.throwIfAborted();
      findings.push(failureOf(subject, error));
    }
  }
  return { title, findings };
}

async function inspect(
  inspection: RegistryInspection,
  tenant: StartedTenant,
  signal: AbortSignal,
): Promise<SubjectFinding[]> {
  const schemas = readSchemaFiles();
  return Promise.all(
    tenant.topics
      .filter(({ suffix }) => suffix !== STATE_TOPIC)
      .map(async ({ name, suffix }) => {
        const schema = schemas.get(suffix)?.schema ?? {};
        return inspection.subject(`${name}-value`, { schema, signal });
      }),
  );
}

/** One finding for all subjects that fit, and one for each that does not. */
export function subjectFindings(
  subject: string,
  { url, subjects }: { url: string; subjects: readonly SubjectFinding[] },
): Finding[] {
  const wrong = subjects.flatMap((each) => misfits(each, { subject, url }));
  const registered = subjects.filter((each) => each.registered);
  const unknown = registered.filter(({ compatible }) => compatible === null);
  const missing = subjects.length - registered.length;
  if (unknown.length > 0) {
    wrong.push(
      warning(
        subject,
        `${countOf(unknown.length, 'schema')} not checked for compatibility: this registry can check only by registering`,
        'The check happens when "rollcall run" registers them.',
      ),
    );
  }
  if (wrong.length > 0) return wrong;
  const parts = [
    ...(registered.length > 0 ? [`${registered.length} registered and compatible`] : []),
    ...(missing > 0 ? [`${missing} to be registered at the start`] : []),
  ];
  return [ok(subject, parts.join(', '))];
}

function misfits(each: SubjectFinding, at: { subject: string; url: string }): Finding[] {
  const findings: Finding[] = [];
  if (!each.levelFits) {
    findings.push(
      failure(
        at.subject,
        `${each.subject} has compatibility ${each.level ?? 'unknown'}, the contract requires FULL_TRANSITIVE`,
        `Find out why it was changed, then: PUT ${at.url}/config/${each.subject} {"compatibility":"FULL_TRANSITIVE"}`,
      ),
    );
  }
  if (each.refusesWrite) {
    findings.push(failureOf(at.subject, readOnly({ url: at.url, subject: each.subject })));
  }
  if (each.compatible === false) {
    findings.push(
      failure(
        at.subject,
        `${each.subject} has schemas that are not compatible with this version's`,
        `See GET ${at.url}/subjects/${each.subject}/versions: another program registered one, or an earlier Rollcall was newer than this one.`,
      ),
    );
  }
  return findings;
}
