import { COMPATIBILITY, SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { request } from 'undici';
import { RollcallError } from '../errors.ts';

export interface RegistryConnection {
  /** Base of a Confluent-compatible API, without a trailing slash. */
  readonly url: string;
  readonly username?: string | undefined;
  /** Called at each request, so that it is never kept in the open. */
  readonly password?: (() => string) | undefined;
}

/** The level of a subject: compacted topics keep values of every version alive, so all versions must fit all. */
const LEVEL = COMPATIBILITY.FULL_TRANSITIVE;
const REQUEST_TIMEOUT_MS = 10_000;
const SUBJECT_OR_LEVEL_UNKNOWN = 404;

/** Used at start and for reading old progress records only; never on the hot path. */
export interface Registry {
  /** Registers a value schema and returns its id. Refuses a level other than FULL_TRANSITIVE. */
  register(subject: string, schema: object): Promise<number>;
  /** Throws like {@link Registry.register} where registering would fail; registers nothing. */
  ping(): Promise<void>;
  /** Decodes a framed value with the schema it names. Throws `REGISTRY_…`. */
  decode(framed: Buffer): Promise<unknown>;
}

export function createRegistry(connection: RegistryConnection): Registry {
  const { url, username, password } = connection;
  const auth =
    username === undefined || password === undefined ? undefined : { username, password: password() };
  const client = new SchemaRegistry({
    host: url,
    ...(auth === undefined ? {} : { auth }),
    retry: { maxRetryTimeInSecs: 5, initialRetryTimeInSecs: 0.1, retries: 3 },
  });

  async function call(
    method: 'GET' | 'PUT',
    path: string,
    body?: object,
  ): Promise<{ status: number; body: unknown }> {
    const authorization =
      auth === undefined
        ? {}
        : { authorization: `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString('base64')}` };
    const response = await request(`${url}${path}`, {
      method,
      headers: { 'content-type': 'application/vnd.schemaregistry.v1+json', ...authorization },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.body.text();
    return { status: response.statusCode, body: parseOrNull(text) };
  }

  /** A subject without a level gets ours; one with another is refused, never altered silently. */
  async function settleLevel(subject: string): Promise<void> {
    const found = await call('GET', `/config/${encodeURIComponent(subject)}`);
    if (found.status === SUBJECT_OR_LEVEL_UNKNOWN) {
      // Some registries refuse a level for a subject they have not met; the client sets it after registering then.
      const set = await call('PUT', `/config/${encodeURIComponent(subject)}`, { compatibility: LEVEL });
      if (set.status !== SUBJECT_OR_LEVEL_UNKNOWN) refuseUnlessOk(set.status, subject, url);
      return;
    }
    refuseUnlessOk(found.status, subject, url);
    const level = (found.body as { compatibilityLevel?: string } | null)?.compatibilityLevel;
    if (level?.toUpperCase() === LEVEL) return;
    throw new RollcallError(
      'SCHEMA_INCOMPATIBLE',
      `Subject ${subject} has compatibility ${level ?? 'unknown'}, the contract wants ${LEVEL}`,
      {
        remedy: `Set it: PUT ${url}/config/${subject} {"compatibility":"${LEVEL}"} once you know why it was changed.`,
      },
    );
  }

  return {
    async register(subject, schema) {
      try {
        await settleLevel(subject);
        const registered = await client.register(
          { type: 'AVRO' as never, schema: JSON.stringify(schema) },
          { subject, compatibility: LEVEL },
        );
        return registered.id;
      } catch (error) {
        throw registryError(error, { url, subject });
      }
    },
    async ping() {
      try {
        const { status } = await call('GET', '/subjects');
        refuseUnlessOk(status, 'the list of subjects', url);
      } catch (error) {
        throw registryError(error, { url, subject: 'the list of subjects' });
      }
    },
    async decode(framed) {
      try {
        return (await client.decode(framed)) as unknown;
      } catch (error) {
        throw decodingError(error, url);
      }
    },
  };
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function refuseUnlessOk(status: number, subject: string, url: string): void {
  if (status >= 200 && status < 300) return;
  throw statusError(status, { url, subject });
}

function statusError(status: number, { url, subject }: { url: string; subject: string }): RollcallError {
  if (status === 401 || status === 403) {
    return new RollcallError(
      'REGISTRY_REFUSED',
      `The schema registry refused access to ${subject} (HTTP ${status})`,
      {
        remedy: 'Check registry.username and registry.password, and the rights of that user.',
      },
    );
  }
  if (status === 404) {
    return new RollcallError('REGISTRY_REFUSED', `There is no schema registry at ${url} (HTTP 404)`, {
      remedy: 'Check registry.url; Apicurio serves the compatible API under /apis/ccompat/v7.',
    });
  }
  return new RollcallError(
    'REGISTRY_UNREACHABLE',
    `The schema registry answered HTTP ${status} for ${subject}`,
    {
      remedy: 'If it goes on, look at the registry.',
    },
  );
}

const LOST_SCHEMAS =
  'Was the registry emptied, or is it another one? Point registry.url at the one the topics were written with, or restore its schemas.';

/** Without a cause: a decoder's message may quote what it read. */
function decodingError(error: unknown, url: string): RollcallError {
  const { status } = error as { status?: unknown };
  if (status === 404) {
    return new RollcallError(
      'REGISTRY_REFUSED',
      `The registry at ${url} knows no schema of the id that a record names`,
      {
        remedy: LOST_SCHEMAS,
      },
    );
  }
  const isDecoder = error instanceof Error && typeof status !== 'number' && !isNetworkError(error);
  if (!isDecoder) return registryError(error, { url, subject: 'a schema by its id' });
  return new RollcallError(
    'REGISTRY_REFUSED',
    `The schema that the registry at ${url} gives for a record does not fit it`,
    {
      remedy:
        'Was the registry emptied, or is it another one? Point registry.url at the one the topics were written with, or restore its schemas.',
    },
  );
}

function isNetworkError(error: Error): boolean {
  return 'code' in error || error.message.includes('connect');
}

/** The registry client's errors carry an HTTP status where the registry answered at all. */
function registryError(error: unknown, at: { url: string; subject: string }): RollcallError {
  if (error instanceof RollcallError) return error;
  const status = (error as { status?: unknown }).status;
  const text = error instanceof Error ? error.message : String(error);
  if (status === 409 || status === 422) {
    return new RollcallError(
      'SCHEMA_INCOMPATIBLE',
      `The schema of ${at.subject} does not fit the versions already registered: ${text}`,
      {
        remedy: `Look at GET ${at.url}/subjects/${at.subject}/versions: another program registered there, or this version of Rollcall is older than the one before.`,
      },
    );
  }
  if (typeof status === 'number') return statusError(status, at);
  return new RollcallError(
    'REGISTRY_UNREACHABLE',
    `The schema registry at ${at.url} cannot be reached: ${text}`,
    {
      remedy: 'Check registry.url and that the registry is up.',
      cause: error,
    },
  );
}
