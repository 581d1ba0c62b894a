import { createRequire } from 'node:module';
import type { ConnectionOptions } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Agent, Dispatcher, EnvHttpProxyAgent, Pool } from 'undici';
import { isUntrusted, RollcallError, systemCode } from './errors.ts';

// undici's index also loads its mocks, caches and, for these, Node's own fetch: at each start some 80 ms of CPU time,
// and 15 MB that stay. So only the modules that Rollcall uses are loaded. undici's public types hold for these modules,
// too.
const require = createRequire(import.meta.url);
const UndiciAgent = require('undici/lib/dispatcher/agent') as typeof Agent;
const request = require('undici/lib/api/api-request') as Agent['request'];

/** Connections to one server or a few. */
export interface HttpAgent {
  /** Rejects with a {@link ProxyError} if the failure is that of a proxy. */
  request(options: Dispatcher.RequestOptions & { readonly origin: string }): Promise<Dispatcher.ResponseData>;
  /** Aborts running requests. */
  destroy(): Promise<void>;
}

/** The authority that must have issued a server's certificate, and the certificate of this client. */
export type Certificates = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'rejectUnauthorized'
>;

interface HttpAgentOptions extends Omit<Agent.Options, 'connect' | 'factory' | 'tls'> {
  /** For a connection to the server, or to the proxy before it. */
  readonly connectTimeoutMs: number;
  /** Called for each request, so that replaced certificates take effect. */
  readonly certificates?: (() => Certificates) | undefined;
}

/**
 * Sends requests through the proxies that the environment names (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`). Throws
 * `CONFIG_INVALID`.
 */
export function createHttpAgent({ certificates = () => ({}), ...options }: HttpAgentOptions): HttpAgent {
  const direct = new Set<string>();
  let inUse = certificates();
  let agent = agentWith(options, inUse, direct);
  return {
    async request(of) {
      const now = certificates();
      if (!isDeepStrictEqual(now, inUse)) {
        // The old agent ends its running requests first.
        void agent.close();
        [inUse, agent] = [now, agentWith(options, now, direct)];
      }
      try {
        return (await request.call(agent, of)) as Dispatcher.ResponseData;
      } catch (error) {
        const proxy = direct.has(of.origin) ? null : proxyFor(new URL(of.origin).protocol);
        throw proxy === null ? error : asProxyError(error, proxy);
      }
    },
    destroy: () => agent.destroy(),
  };
}

/** `direct`: gets each server that is reached without a proxy. */
function agentWith(
  { connectTimeoutMs, ...options }: Omit<HttpAgentOptions, 'certificates'>,
  certificates: Certificates,
  direct: Set<string>,
): Agent | EnvHttpProxyAgent {
  const connect = { timeout: connectTimeoutMs, ...certificates };
  const [httpProxy, httpsProxy] = [proxyFor('http:')?.url.href, proxyFor('https:')?.url.href];
  if (httpsProxy === undefined) return new UndiciAgent({ ...options, connect });
  const ProxyingAgent = require('undici/lib/dispatcher/env-http-proxy-agent') as typeof EnvHttpProxyAgent;
  const UndiciPool = require('undici/lib/dispatcher/pool') as typeof Pool;
  const tunnel = require('undici/lib/api/api-connect') as Pool['connect'];
  return new ProxyingAgent({
    ...options,
    ...(httpProxy !== undefined && { httpProxy }),
    httpsProxy,
    connect,
    requestTls: certificates,
    connectTimeout: connectTimeoutMs,
    // Without this factory, requests to an http:// address through a proxy would have none of these options.
    factory: (origin, given: Pool.Options) => {
      if (typeof given.connect !== 'function') direct.add(new URL(origin).origin);
      return new UndiciPool(origin, { ...options, ...given });
    },
    // A proxy that does not answer must not hold a request up. `connect` asks a proxy for a tunnel. A pool gets this
    // method from undici's index, which is not loaded here, so it is added.
    clientFactory: (origin, given) =>
      Object.assign(new UndiciPool(origin, { ...given, headersTimeout: connectTimeoutMs }), {
        connect: tunnel,
      }),
  });
}

interface Proxy {
  /** The environment variable that names the proxy. */
  readonly name: string;
  readonly url: URL;
}

/** The variables that name the proxy, by the protocol of a request. The first one that is set counts. */
const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  'http:': ['http_proxy', 'HTTP_PROXY'],
  'https:': ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'],
};

function proxyFor(protocol: string): Proxy | null {
  const name = VARIABLES[protocol]?.find((each) => (process.env[each] ?? '') !== '');
  if (name === undefined) return null;
  const url = URL.parse(process.env[name] ?? '');
  if (url !== null && /^https?:$/.test(url.protocol)) return { name, url };
  throw new RollcallError(
    'CONFIG_INVALID',
    `The environment variable ${name} is not the address of a proxy`,
    {
      remedy: `Set it to http://host:port, or to http://user:password@host:port, or remove it.`,
    },
  );
}

/**
 * A request that failed because of the proxy, or between the proxy and the server. Its message has neither user nor
 * password of the proxy.
 */
export class ProxyError extends Error {
  /** The code of the system, if there is one. */
  readonly code: string | null;
  readonly remedy: string;

  constructor(what: string, code: string | null, remedy: string) {
    super(what);
    this.name = 'ProxyError';
    this.code = code;
    this.remedy = remedy;
  }
}

/**
 * Explains a failure of a request through a proxy; returns other errors as they are, such as a server's certificate
 * that is not trusted.
 */
function asProxyError(error: unknown, { name, url }: Proxy): unknown {
  const code = systemCode(error);
  const status = /^Proxy .*\((\d{3})\)/.exec(error instanceof Error ? error.message : '')?.[1];
  if (status === '407')
    return new ProxyError(
      `the proxy ${url.origin} wants another user name or password (HTTP 407)`,
      code,
      `Set ${name} to http://user:password@host:port with a user name and password that the proxy accepts, and restart.`,
    );
  if (status !== undefined)
    return new ProxyError(
      `the proxy ${url.origin} answered HTTP ${status}`,
      code,
      'Have the proxy allow this host, and check that the proxy reaches it; or name the host in NO_PROXY.',
    );
  if (code === null || isUntrusted(code)) return error;
  return new ProxyError(
    `the connection through the proxy ${url.origin} failed (${code})`,
    code,
    `Check ${name}, that the proxy runs, and that it reaches the host. Hosts in NO_PROXY are reached without the proxy.`,
  );
}
