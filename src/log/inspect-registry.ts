import { LEVEL, NOT_FOUND, isSuccess, knownLevel } from './registry-answer.ts';
import { oddAnswer, refuseUnlessOk } from './registry-errors.ts';
import { createRegistryHttp, type RegistryConnection } from './registry-http.ts';

/** A subject in the registry, compared with the schema that Rollcall would register. */
export interface SubjectFinding {
  readonly subject: string;
  readonly registered: boolean;
  /** The subject's own compatibility level; null without one (Rollcall sets it when it registers the schema). */
  readonly level: string | null;
  readonly levelFits: boolean;
  /** Null when the subject has no schema, or when the registry cannot compare without registering. */
  readonly compatible: boolean | null;
  /** The schema or the level must be written, and the registry takes no writes. */
  readonly refusesWrite: boolean;
}

/** Inspects a schema registry and changes nothing in it. */
export interface RegistryInspection {
  /** Returns the number of subjects. Throws `REGISTRY_UNREACHABLE` or `REGISTRY_REFUSED`. */
  subjectCount(signal: AbortSignal): Promise<number>;
  subject(subject: string, options: { schema: object; signal: AbortSignal }): Promise<SubjectFinding>;
}

export function createRegistryInspection(connection: RegistryConnection): RegistryInspection {
  const { url } = connection;
  const http = createRegistryHttp(connection);
  const call = (path: string, { signal, body }: { signal: AbortSignal; body?: string }) =>
    http({ method: body === undefined ? 'GET' : 'POST', path, body, signal });

  return {
    async subjectCount(signal) {
      const answer = await call('/subjects', { signal });
      refuseUnlessOk(answer.status, { url, what: 'the list of subjects' });
      if (!Array.isArray(answer.body)) throw oddAnswer(url);
      return answer.body.length;
    },
    async subject(subject, { schema, signal }) {
      const name = encodeURIComponent(subject);
      const config = await call(`/config/${name}`, { signal });
      if (config.status !== NOT_FOUND) refuseUnlessOk(config.status, { url, what: subject });
      const level = config.status === NOT_FOUND ? null : levelIn(config.body);
      const latest = await call(`/subjects/${name}/versions/latest`, { signal });
      if (latest.status !== NOT_FOUND) refuseUnlessOk(latest.status, { url, what: subject });
      const registered = latest.status !== NOT_FOUND;
      const body = JSON.stringify({ schema: JSON.stringify(schema) });
      const same = await call(`/subjects/${name}`, { signal, body });
      // A registry without modes takes writes.
      const mode = await call(`/mode/${name}?defaultToGlobal=true`, { signal });
      const isReadOnly = String((mode.body as { mode?: unknown } | null)?.mode).startsWith('READONLY');
      return {
        subject,
        registered,
        level,
        levelFits: level === null || level === LEVEL,
        compatible: registered ? await compatible(name, { body, signal }) : null,
        refusesWrite: isReadOnly && (level === null || !isSuccess(same.status)),
      };
    },
  };

  /** Compares with all versions, as the level requires, or with the latest if the registry offers only that. */
  async function compatible(
    name: string,
    { body, signal }: { body: string; signal: AbortSignal },
  ): Promise<boolean | null> {
    for (const versions of ['versions', 'versions/latest']) {
      const answer = await call(`/compatibility/subjects/${name}/${versions}`, { signal, body });
      const verdict = (answer.body as { is_compatible?: unknown } | null)?.is_compatible;
      if (answer.status === 200 && typeof verdict === 'boolean') return verdict;
    }
    return null;
  }
}

function levelIn(body: unknown): string {
  return knownLevel((body as { compatibilityLevel?: unknown } | null)?.compatibilityLevel);
}
