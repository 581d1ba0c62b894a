import type { RollcallError } from '../../errors.ts';
import { LEVEL } from './registry-client.ts';
import { misfit, notARegistry, readOnly, refuseUnlessOk, wrongLevel } from './registry-errors.ts';
import { createRegistryHttp, isSuccess, NOT_FOUND, type RegistryConnection } from './registry-http.ts';

/** Inspects a schema registry and changes nothing in it. */
export function createRegistryInspection(connection: RegistryConnection) {
  const { url } = connection;
  const http = createRegistryHttp(connection);
  return {
    /** Returns the number of subjects. Throws `REGISTRY_UNREACHABLE` or `REGISTRY_REFUSED`. */
    async subjectCount(signal: AbortSignal): Promise<number> {
      const answer = await http({ method: 'GET', path: '/subjects', signal });
      refuseUnlessOk(answer.status, { url, what: 'the list of subjects' });
      if (!Array.isArray(answer.body)) throw notARegistry(url);
      return answer.body.length;
    },
    /** Compares a subject in the registry with the schema that Rollcall would register. */
    async subject(subject: string, schema: object, signal: AbortSignal) {
      const name = encodeURIComponent(subject);
      const body = JSON.stringify({ schema: JSON.stringify(schema) });
      const get = (path: string) => http({ method: 'GET', path, signal });
      const post = (path: string) => http({ method: 'POST', path, body, signal });
      const at = { url, subject };
      const [config, latest] = [await get(`/config/${name}`), await get(`/subjects/${name}/versions/latest`)];
      for (const { status } of [config, latest])
        if (status !== NOT_FOUND) refuseUnlessOk(status, { url, what: subject });
      const level = config.status === NOT_FOUND ? null : field(config.body, 'compatibilityLevel');
      const registered = latest.status !== NOT_FOUND;
      const problems: RollcallError[] = [];
      // Rollcall sets a missing level when it registers the schema.
      if (level !== null && level !== LEVEL) problems.push(wrongLevel(level, at));
      // A registry that does not know modes accepts writes.
      const mode = await get(`/mode/${name}?defaultToGlobal=true`);
      const mustWrite = level === null || !isSuccess((await post(`/subjects/${name}`)).status);
      if (mustWrite && String(field(mode.body, 'mode')).startsWith('READONLY')) problems.push(readOnly(at));
      // The compatibility check compares with all versions, as the level requires, or with the latest if the registry offers only that.
      for (const versions of registered ? ['versions', 'versions/latest'] : []) {
        const answer = await post(`/compatibility/subjects/${name}/${versions}`);
        const verdict = field(answer.body, 'is_compatible');
        if (answer.status !== 200 || typeof verdict !== 'boolean') continue;
        if (!verdict) problems.push(misfit(at));
        break;
      }
      return { registered, problems };
    },
  };
}

function field(body: unknown, name: string): unknown {
  return (body as Record<string, unknown> | null)?.[name];
}
