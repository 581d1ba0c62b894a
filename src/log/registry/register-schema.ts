import { LEVEL, misfit, notARegistry, refuseUnlessOk, wrongLevel } from './registry-errors.ts';
import { fieldOf, isReadOnly, isSuccess, NOT_FOUND, type RegistryHttp } from './registry-http.ts';

/** Answers to a schema that does not fit the versions of its subject. */
const CONFLICTS: ReadonlySet<number> = new Set([409, 422]);

interface Subject {
  readonly url: string;
  readonly subject: string;
}

/**
 * Registers a schema, given as JSON, and returns its id. Throws `REGISTRY_…`, and `SCHEMA_INCOMPATIBLE` if the subject has another
 * level, or versions that the schema does not fit.
 *
 * A subject without a level gets its level first: then the registry compares the schema with the versions that are there.
 */
export async function registerSchema(http: RegistryHttp, at: Subject, schema: string): Promise<number> {
  const what = { url: at.url, what: at.subject };
  const path = `/config/${encodeURIComponent(at.subject)}`;
  const setLevel = () => http({ method: 'PUT', path, body: JSON.stringify({ compatibility: LEVEL }) });
  const config = await http({ method: 'GET', path });
  if (config.status !== NOT_FOUND) {
    refuseUnlessOk(config, what);
    requireLevel(fieldOf(config, 'compatibilityLevel'), at);
    return postSchema(http, at, schema);
  }
  const set = await setLevel();
  // Some registries know no level of a subject that does not exist yet.
  const isTooEarly = set.status === NOT_FOUND;
  if (!isTooEarly) refuseUnlessOk(set, what);
  const id = await postSchema(http, at, schema);
  if (isTooEarly) refuseUnlessOk(await setLevel(), what);
  return id;
}

function requireLevel(level: unknown, at: Subject): void {
  if (typeof level !== 'string') throw notARegistry(at.url);
  if (level.toUpperCase() !== LEVEL) throw wrongLevel(level, at);
}

async function postSchema(http: RegistryHttp, at: Subject, schema: string): Promise<number> {
  const path = `/subjects/${encodeURIComponent(at.subject)}`;
  const body = JSON.stringify({ schema });
  let answer = await http({ method: 'POST', path: `${path}/versions`, body });
  if (isReadOnly(answer)) {
    // A read-only registry does not register even a schema that the subject has, but finds it.
    const found = await http({ method: 'POST', path, body });
    if (isSuccess(found.status)) answer = found;
  } else if (CONFLICTS.has(answer.status)) throw misfit(at);
  refuseUnlessOk(answer, { url: at.url, what: at.subject });
  const id = fieldOf(answer, 'id');
  if (!Number.isSafeInteger(id)) throw notARegistry(at.url);
  return Number(id);
}
