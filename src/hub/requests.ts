import type { RememberedPage } from '../core/pages/page-memory.ts';
import { RollcallError } from '../errors.ts';
import type { HubEvent, RequestTarget } from '../core/hub-events.ts';
import type { HttpClient } from './http.ts';
import { readAnswer, type HubAnswer, type Sent } from './hub-answer.ts';
import { HubError } from './hub-error.ts';
import { withQuery } from './request-url.ts';
import { parseRetryAfter, withRetries, type RetryTools } from './retry.ts';
import type { Semaphore } from './semaphore.ts';
import type { Token, TokenSource } from './token.ts';

/** A token that is refused before is not renewed: it lacks a right, or the clocks of the hub and its token service differ. */
const YOUNG_TOKEN_MS = 60_000;

interface SendOptions {
  readonly target: RequestTarget;
  /** Names the resource in errors, without query and ids. */
  readonly where: string;
  /** Called for each attempt, since a failure may change the address. */
  readonly url: () => URL;
  readonly signal: AbortSignal;
  /** Called immediately before each request is sent. */
  readonly readVersion: () => number;
}

interface GetOptions<T> extends SendOptions {
  /** Turns the answer into the result. An error that it throws counts as a failure of the request. */
  readonly read: (answer: HubAnswer) => T;
  readonly onFailure?: ((error: HubError) => boolean) | undefined;
  /** The answer for an address that was requested before its turn; see `Prefetch.take`. */
  readonly prefetched?: ((url: URL) => Promise<Sent | null> | null) | undefined;
  /** Whether a body is a page that need not be parsed. */
  readonly recognise?: ((text: Buffer) => RememberedPage | null) | undefined;
}

interface Read<T> {
  readonly result: T;
  readonly status: number;
  readonly bytes: number;
}

/** Authorised GETs to one hub, with retries and a bound on concurrent requests. */
export interface Requests {
  get<T>(options: GetOptions<T>): Promise<T>;
  /**
   * Sends a request before its turn, once, if the limit of concurrent requests leaves a place; otherwise returns null.
   * Resolves with null without a 200: the request in its turn will show why.
   */
  inAdvance(options: SendOptions): Promise<Sent | null> | null;
}

export interface RequestsOptions {
  readonly http: HttpClient;
  readonly tokens: TokenSource;
  readonly permits: Semaphore;
  readonly tools: RetryTools;
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
  /** Monotonic clock, ms. */
  readonly monotonicNow: () => number;
  readonly onEvent: (event: HubEvent) => void;
}

/** Sends requests with a token, and once more with a new one when the hub may have refused an expired token: some answer 403 to it. */
function createSender({ http, tokens, now }: Pick<RequestsOptions, 'http' | 'tokens' | 'now'>) {
  async function send(token: Token, get: SendOptions): Promise<Sent> {
    const requested = get.url();
    const readVersion = get.readVersion();
    const response = await http.send({
      method: 'GET',
      url: requested,
      headers: { authorization: `Bearer ${token.value}`, accept: 'application/json' },
      signal: get.signal,
      where: get.where,
      setting: 'hub.baseUrl',
    });
    return { response, requested, readVersion };
  }

  return async function sendAuthorised(get: SendOptions): Promise<Sent> {
    const token = await tokens.get(get.signal);
    const sent = await send(token, get);
    const { response } = sent;
    if (response.status !== 401 && response.status !== 403) return sent;
    const isLimited = parseRetryAfter(response.header('retry-after'), now()) !== undefined;
    if (isLimited || now() - token.obtainedAtMs < YOUNG_TOKEN_MS) return sent;
    tokens.discard(token);
    return send(await tokens.get(get.signal), get);
  };
}

/**
 * Some servers answer 404 where a filter selects nothing. Such an answer is an empty one if the server shows the
 * collection without the filter; otherwise that answer counts.
 */
async function sendFiltered(
  sendAuthorised: (get: SendOptions) => Promise<Sent>,
  get: SendOptions,
): Promise<Sent> {
  const sent = await sendAuthorised(get);
  const { response, requested } = sent;
  if (response.status !== 404 || !requested.searchParams.has('filter')) return sent;
  const unfiltered = await sendAuthorised({ ...get, url: () => withQuery(requested, { limit: 1 }) });
  const { status } = unfiltered.response;
  if (status < 200 || status >= 300) return unfiltered;
  return { ...sent, response: { ...response, status: 204, body: Buffer.alloc(0) } };
}

/** Reports a request; `asksAgain`: a failure is none, since the caller asks again. */
async function reported<T extends { readonly status: number; readonly bytes: number }>(
  { monotonicNow, onEvent }: Pick<RequestsOptions, 'monotonicNow' | 'onEvent'>,
  target: RequestTarget,
  work: () => Promise<T>,
  { asksAgain = false } = {},
): Promise<T> {
  const startedAtMs = monotonicNow();
  const since = (): { durationMs: number } => ({ durationMs: monotonicNow() - startedAtMs });
  onEvent({ type: 'request-started', target });
  try {
    const done = await work();
    onEvent({ type: 'request-done', target, status: done.status, ...since(), bytes: done.bytes });
    return done;
  } catch (error) {
    if (error instanceof RollcallError && !asksAgain) {
      const status = error instanceof HubError ? error.status : null;
      onEvent({ type: 'request-failed', target, code: error.code, status, ...since() });
    } else {
      onEvent({ type: 'request-stopped', target });
    }
    throw error;
  }
}

export function createRequests(options: RequestsOptions): Requests {
  const { permits, tools, now, onEvent } = options;
  const sendAuthorised = createSender(options);

  function readSent<T>(sent: Sent, get: GetOptions<T>): Read<T> {
    const { answer, utf8 } = readAnswer(sent, {
      where: get.where,
      nowMs: now(),
      recognise: get.recognise,
    });
    if (!utf8) onEvent({ type: 'text-not-utf8', target: get.target });
    return { result: get.read(answer), status: answer.status, bytes: answer.bytes };
  }

  /** Null if the answer was not requested before its turn, or is of no use: then the request is sent. */
  async function readPrefetched<T>(get: GetOptions<T>): Promise<Read<T> | null> {
    const sent = (await get.prefetched?.(get.url())) ?? null;
    if (sent === null) return null;
    try {
      return readSent(sent, get);
    } catch (error) {
      if (error instanceof RollcallError) return null;
      throw error;
    }
  }

  async function attempt<T>(get: GetOptions<T>): Promise<Read<T>> {
    const prefetched = await readPrefetched(get);
    if (prefetched !== null) return prefetched;
    const release = await permits.acquire(get.signal);
    const work = async () => readSent(await sendFiltered(sendAuthorised, get), get);
    try {
      return await reported(options, get.target, work);
    } finally {
      release();
    }
  }

  return {
    inAdvance(get) {
      const release = permits.tryAcquire();
      if (release === null) return null;
      const send = async () => {
        const sent = await sendAuthorised(get);
        const { status, body } = sent.response;
        if (status !== 200) throw new Error('asked again in its turn');
        return { sent, status, bytes: body.length };
      };
      return reported(options, get.target, send, { asksAgain: true })
        .then(
          ({ sent }) => sent,
          () => null,
        )
        .finally(release);
    },
    async get(get) {
      const { target, signal, onFailure } = get;
      const { result } = await withRetries(() => attempt(get), { tools, target, signal, onFailure });
      return result;
    },
  };
}
