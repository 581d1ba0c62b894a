import { setTimeout as delay } from 'node:timers/promises';
import { jsonOrNull } from '../../core/json-or-null.ts';
import { isUntrusted, refusesOurs, RollcallError, systemCode } from '../../errors.ts';
import { createHttpAgent, ProxyError, type Certificates } from '../../http-agent.ts';
import type { Tokens } from '../oauth-login.ts';

export const NOT_FOUND = 404;

/** The limit of concurrent requests. Further requests wait, and their time-outs begin when they are sent. */
const CONNECTIONS = 8;
const TIMEOUT_MS = 10_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Far above the size of any schema or list of subjects. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 100;

export interface RegistryConnection {
  /** Base of a Confluent-compatible API, without a trailing slash. */
  readonly url: string;
  readonly username?: string | undefined;
  /** Called for each request, so that no copy of the password stays in memory as plain text. */
  readonly password?: (() => string) | undefined;
  /** Tokens, used in place of user name and password. */
  readonly tokens?: Tokens | undefined;
  /** Called for each request, so that replaced certificates take effect. */
  readonly certificates?: (() => Certificates) | undefined;
}

export interface RegistryAnswer {
  readonly status: number;
  /** Parsed JSON; null if the body is not JSON. */
  readonly body: unknown;
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether a registry refuses a write because of its mode, or that of the subject. */
export function isReadOnly({ status, body }: RegistryAnswer): boolean {
  return status === 422 && (body as { error_code?: unknown } | null)?.error_code === 42_205;
}

export interface RegistryRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Relative to the base URL. */
  readonly path: string;
  /** JSON. */
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request to a schema registry, and may repeat it. Throws `REGISTRY_UNREACHABLE` when there is no answer. */
export type RegistryHttp = (options: RegistryRequest) => Promise<RegistryAnswer>;

const REFUSED = 401;

export function createRegistryHttp(connection: RegistryConnection): RegistryHttp {
  const { url, username, password, tokens, certificates } = connection;
  const agent = createHttpAgent({
    connections: CONNECTIONS,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    certificates,
    headersTimeout: TIMEOUT_MS,
    bodyTimeout: TIMEOUT_MS,
    maxResponseSize: MAX_RESPONSE_BYTES,
  });

  async function send(
    { method, path, body, signal }: RegistryRequest,
    authorization: string | undefined,
  ): Promise<RegistryAnswer> {
    const { origin, pathname, search } = new URL(`${url}${path}`);
    const response = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method,
      headers: {
        accept: 'application/vnd.schemaregistry.v1+json, application/json',
        'content-type': 'application/vnd.schemaregistry.v1+json',
        ...(authorization === undefined ? {} : { authorization }),
      },
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    return { status: response.statusCode, body: jsonOrNull(await response.body.text()) };
  }

  return async (options) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const token = await tokens?.get();
        const asUser = username === undefined ? undefined : basic(username, password?.() ?? '');
        const answer = await send(options, token === undefined ? asUser : `Bearer ${token}`);
        const mayBeExpired =
          answer.status === REFUSED && token !== undefined && tokens?.refused(token) === true;
        if ((answer.status < 500 && !mayBeExpired) || attempt === ATTEMPTS) return answer;
      } catch (error) {
        if (error instanceof RollcallError) throw error;
        options.signal?.throwIfAborted();
        if (attempt === ATTEMPTS || isTimeout(error)) throw unreachable(url, error);
      }
      await delay(FIRST_PAUSE_MS * attempt, undefined, { signal: options.signal });
    }
  };
}

function basic(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** A registry that times out is overloaded or unreachable: an immediate retry would not help. */
function isTimeout(error: unknown): boolean {
  return String((error as { code?: unknown }).code).endsWith('_TIMEOUT');
}

function unreachable(url: string, error: unknown): RollcallError {
  const message = `The schema registry at ${url} is unreachable`;
  if (error instanceof ProxyError)
    return new RollcallError('REGISTRY_UNREACHABLE', `${message}: ${error.message}`, {
      remedy: error.remedy,
    });
  const isNotHttp = error instanceof Error && error.name === 'HTTPParserError';
  const why = systemCode(error) ?? (isNotHttp ? 'the answer is not HTTP' : 'no answer');
  return new RollcallError('REGISTRY_UNREACHABLE', `${message}: ${why}`, { remedy: remedyOf(why, url) });
}

function remedyOf(why: string, url: string): string {
  // A server that wants a certificate closes the connection after the handshake (TLS 1.3).
  if (refusesOurs(why) || (why === 'UND_ERR_SOCKET' && url.startsWith('https:')))
    return 'Check registry.ssl.cert and key: the registry may require a different client certificate. Check that it is up, too.';
  return isUntrusted(why)
    ? 'Use a host name that is in the certificate of the registry; set registry.ssl.ca, or NODE_EXTRA_CA_CERTS=<file>, to the authority that issued the certificate.'
    : 'Check registry.url, and that the registry is up and reachable from here.';
}
