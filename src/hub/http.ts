import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { isTls, isUntrusted, systemCode } from '../errors.ts';
import { createHttpAgent, ProxyError, type Certificates } from '../http-agent.ts';
import { CHECK_THE_WAY, HubError, LARGE_BYTES, LargeAnswer } from './hub-error.ts';

const gunzipAsync = promisify(gunzip);

/** Only the codes in the body of an error are read. */
const MAX_ERROR_BODY_BYTES = 64 * 1024;
const NOTHING = Buffer.alloc(0);
const CONNECT_MS = 10_000;

interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
  /** Names the resource in errors, without query and ids. */
  readonly where: string;
  /** The setting that the address comes from, for remedies. */
  readonly setting: string;
  /** Whether the answer may have more than {@link LARGE_BYTES}. */
  readonly mayBeLarge?: boolean | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Returns a header's value, null when absent; several values are joined by `, `. */
  header(name: string): string | null;
  /** The body, decompressed. */
  readonly body: Buffer;
}

export type HttpClient = ReturnType<typeof createHttpClient>;

async function readBounded(body: Dispatcher.ResponseData['body'], maxBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    const piece = chunk as Buffer;
    size += piece.length;
    if (size > maxBytes) return null;
    chunks.push(piece);
  }
  return Buffer.concat(chunks, size);
}

function tooLarge(request: HttpRequest, maxBytes: number): HubError {
  if (request.mayBeLarge !== true && maxBytes === LARGE_BYTES) return new LargeAnswer(request.where);
  const what = `Cannot read ${request.where}: the answer is larger than the ${maxBytes} bytes allowed`;
  const remedy =
    'Rollcall asks for smaller pages. If this continues, lower hub.pageSize or raise hub.maxResponseBytes.';
  return new HubError('HUB_RESPONSE_TOO_LARGE', what, { remedy });
}

async function decompress(
  raw: Buffer,
  encoding: string,
  { request, maxBytes }: { request: HttpRequest; maxBytes: number },
) {
  const name = encoding.trim().toLowerCase();
  if (name === '' || name === 'identity' || raw.length === 0) return raw;
  if (name !== 'gzip' && name !== 'x-gzip') {
    const what = `Cannot read ${request.where}: the answer is in a content encoding other than gzip`;
    const remedy =
      'Rollcall asks for gzip: the hub, or the proxy in front of it, must honour Accept-Encoding: gzip.';
    throw new HubError('HUB_BODY_INVALID', what, { remedy });
  }
  try {
    return await gunzipAsync(raw, { maxOutputLength: maxBytes });
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(request, maxBytes);
    const what = `Cannot read ${request.where}: the gzip data of the answer is damaged or cut off`;
    throw new HubError('HUB_BODY_INVALID', what, { remedy: CHECK_THE_WAY, cause: error });
  }
}

function headerOf(headers: Dispatcher.ResponseData['headers'], name: string): string | null {
  const value = headers[name];
  if (value === undefined) return null;
  return Array.isArray(value) ? value.join(', ') : value;
}

const NOT_RESOLVED = ['its host name cannot be resolved', 'Check the host name in {}, and DNS.'] as const;
const NO_ROUTE = ['there is no route to it', 'Check the network, firewall and {}.'] as const;
const NOT_IN_TIME = ['no connection within the time limit', 'Check the network, firewall and {}.'] as const;

/** What the codes of the system and of undici say; `{}`: the setting that the address comes from. */
const NETWORK_CODES: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ENOTFOUND: NOT_RESOLVED,
  EAI_AGAIN: NOT_RESOLVED,
  ECONNREFUSED: [
    'the connection was refused',
    'Check the host and port in {}, and that the service is running.',
  ],
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  UND_ERR_CONNECT_TIMEOUT: NOT_IN_TIME,
  ETIMEDOUT: NOT_IN_TIME,
};

function codeOf(error: unknown): string {
  const code = systemCode(error);
  // Some of undici's parser errors have no code.
  return code ?? (error instanceof Error && error.name === 'HTTPParserError' ? 'HPE_INVALID' : '');
}

function explain(code: string): readonly [what: string, remedy: string] {
  if (isUntrusted(code)) {
    const remedy = 'Check the host name in {}; for a private certificate authority set NODE_EXTRA_CA_CERTS.';
    return [`its TLS certificate is not trusted (${code})`, remedy];
  }
  if (isTls(code)) return [`TLS failed (${code})`, 'Check whether {} should begin with http:// or https://.'];
  if (code.startsWith('HPE_'))
    return [`the answer is not HTTP (${code})`, 'Check the scheme and port in {}.'];
  return NETWORK_CODES[code] ?? [`the connection broke (${code})`, CHECK_THE_WAY];
}

/**
 * Turns a network failure into an error that a person can act on; rethrows any other error.
 * `where` names the resource without its query, `setting` the setting that its address comes from.
 */
function networkError(error: unknown, { where, setting }: { where: string; setting: string }): HubError {
  if (error instanceof ProxyError)
    return new HubError('HUB_UNREACHABLE', `Cannot read ${where}: ${error.message}`, {
      remedy: error.remedy,
    });
  const code = codeOf(error);
  if (code === '' || code === 'UND_ERR_INVALID_ARG') throw error;
  const [what, remedy] = explain(code);
  // No cause is attached: it may contain received data (HTTPParserError.data, a certificate's names).
  return new HubError('HUB_UNREACHABLE', `Cannot read ${where}: ${what}`, {
    remedy: remedy.replace('{}', setting),
    retryable: !isUntrusted(code) && !isTls(code),
  });
}

/**
 * HTTP to one hub, bounded in time and size, with one pool per origin and persistent connections. It follows no
 * redirects, since the token would go with them.
 */
export function createHttpClient(options: {
  connections: number;
  /** The time for a request and its complete answer: a hub may begin late, or pause in the middle. */
  requestTimeoutMs: number;
  maxResponseBytes: number;
  certificates?: () => Certificates;
}) {
  const { connections, requestTimeoutMs, maxResponseBytes, certificates } = options;
  const agent = createHttpAgent({
    connections,
    // One request per connection, so that the pool's size bounds the requests that run at the same time.
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeoutMs: CONNECT_MS,
    certificates,
  });

  async function exchange(request: HttpRequest, signal: AbortSignal): Promise<HttpResponse> {
    const { method, url, body } = request;
    const response = await agent.request({
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers: { 'accept-encoding': 'gzip', ...request.headers },
      ...(body === undefined ? {} : { body }),
      signal,
    });
    const ok = response.statusCode >= 200 && response.statusCode < 300;
    const allowedBytes =
      request.mayBeLarge === true ? maxResponseBytes : Math.min(maxResponseBytes, LARGE_BYTES);
    const maxBytes = ok ? allowedBytes : MAX_ERROR_BODY_BYTES;
    const raw = await readBounded(response.body, maxBytes);
    if (raw === null && ok) throw tooLarge(request, maxBytes);
    const encoding = headerOf(response.headers, 'content-encoding') ?? '';
    const decompressed = decompress(raw ?? NOTHING, encoding, { request, maxBytes });
    return {
      status: response.statusCode,
      header: (name) => headerOf(response.headers, name),
      // For an error the status counts, even if its body is unreadable.
      body: await (ok ? decompressed : decompressed.catch(() => NOTHING)),
    };
  }

  return {
    /** Throws {@link HubError} on network failures, time-outs and oversized answers, and the signal's reason when aborted. */
    async send(request: HttpRequest): Promise<HttpResponse> {
      request.signal.throwIfAborted();
      const deadline = AbortSignal.timeout(requestTimeoutMs);
      try {
        return await exchange(request, AbortSignal.any([request.signal, deadline]));
      } catch (error) {
        request.signal.throwIfAborted();
        if (error instanceof HubError) throw error;
        if (deadline.aborted) {
          const limit = request.setting.startsWith('hub.') ? 'hub.requestTimeout' : 'the time limit';
          const what = `no complete answer within ${limit} (${requestTimeoutMs / 1000} s)`;
          throw new HubError('HUB_TIMEOUT', `Cannot read ${request.where}: ${what}`, {
            remedy:
              'If this continues, raise hub.requestTimeout, or ask the people who run the hub why it is slow.',
          });
        }
        throw networkError(error, request);
      }
    },
    async [Symbol.asyncDispose]() {
      await agent.destroy();
    },
  };
}
