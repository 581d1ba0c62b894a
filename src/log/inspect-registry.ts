import { LEVEL, knownLevel } from './registry-client.ts';
import { oddAnswer, refuseUnlessOk } from './registry-errors.ts';
import { createRegistryHttp, isSuccess, NOT_FOUND, type RegistryConnection } from './registry-http.ts';

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

export type RegistryInspection = ReturnType<typeof createRegistryInspection>;

/** Inspects a schema registry and changes nothing in it. */
export function createRegistryInspection(connection: RegistryConnection) {
  const { url } = connection;
  const http = createRegistryHttp(connection);

  return {
    /** Returns the number of subjects. Throws `REGISTRY_UNREACHABLE` or `REGISTRY_REFUSED`. */
    async subjectCount(signal: AbortSignal): Promise<number> {
      const answer = await http({ method: 'GET', path: '/subjects', signal });
      refuseUnlessOk(answer.status, { url, what: 'the list of subjects' });
      if (!Array.isArray(answer.body)) throw oddAnswer(url);
      return answer.body.length;
    },
    async subject(
      subject: string,
      { schema, signal }: { schema: object; signal: AbortSignal },
    ): Promise<SubjectFinding> {
      const name = encodeURIComponent(subject);
      const body = JSON.stringify({ schema: JSON.stringify(schema) });
      const get = (path: string) => http({ method: 'GET', path, signal });
      const post = (path: string) => http({ method: 'POST', path, body, signal });
      /** Null when there is none. */
      const find = async (path: string): Promise<{ readonly body: unknown } | null> => {
        const answer = await get(path);
        if (answer.status === NOT_FOUND) return null;
        refuseUnlessOk(answer.status, { url, what: subject });
        return answer;
      };
      const config = await find(`/config/${name}`);
      const level = config === null ? null : knownLevel(field(config.body, 'compatibilityLevel'));
      const registered = (await find(`/subjects/${name}/versions/latest`)) !== null;
      const same = await post(`/subjects/${name}`);
      // A registry without modes takes writes.
      const mode = await get(`/mode/${name}?defaultToGlobal=true`);
      const isReadOnly = String(field(mode.body, 'mode')).startsWith('READONLY');
      let compatible: boolean | null = null;
      // With all versions, as the level requires, or with the latest if the registry offers only that.
      for (const versions of registered ? ['versions', 'versions/latest'] : []) {
        const answer = await post(`/compatibility/subjects/${name}/${versions}`);
        const verdict = field(answer.body, 'is_compatible');
        if (answer.status !== 200 || typeof verdict !== 'boolean') continue;
        compatible = verdict;
        break;
      }
      return {
        subject,
        registered,
        level,
        levelFits: level === null || level === LEVEL,
        compatible,
        refusesWrite: isReadOnly && (level === null || !isSuccess(same.status)),
      };
    },
  };
}

function field(body: unknown, name: string): unknown {
  return (body as Record<string, unknown> | null)?.[name];
}
