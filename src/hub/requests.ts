import type { RememberedPage } from '../core/pages/page-memory.ts';
import { RollcallError } from '../errors.ts';
import type { Breaker } from './breaker.ts';
import type { RequestTarget } from '../core/hub-events.ts';
import type { HttpClient } from './http.ts';
import { readAnswer, type HubAnswer, type Sent } from './hub-answer.ts';
import { HubError, LargeAnswer } from './hub-error.ts';
import type { LargeTurn } from './large-turn.ts';
import { withQuery } from './request-url.ts';
import { parseRetryAfter, withRetries, type RetryTools } from './with-retries.ts';
import type { Semaphore } from '../semaphore.ts';
import { YOUNG_TOKEN_MS, type Token, type TokenSource } from './token.ts';

/**
 * If a renewed token is refused, too, no token is renewed for the same target within this time, which depends on the
 * status.
 */
const FRUITLESS_RENEWAL_MS = { 401: YOUNG_TOKEN_MS, 403: 300_000 };

interface SendOptions {
  readonly target: RequestTarget;
  /** Names the resource in errors, without query and ids. */
  readonly where: string;
  /** Called for each attempt, since a failure may change the address. */
  readonly url: () => URL;
  readonly signal: AbortSignal;
  /** Called immediately before each request is sent. */
  readonly readVersion: () => number;
  readonly mayBeLarge?: boolean;
}

interface GetOptions<T> extends Omit<SendOptions, 'mayBeLarge'> {
  /** Turns the answer into the result. An error that it throws counts as a failure of the request. */
  readonly read: (answer: HubAnswer) => T;
  /**
   * The scan's turn for a large answer. Left out for requests beside a scan: a large answer is then an error, because
   * it might wait for a large page of the same reader.
   */
  readonly large?: LargeTurn | undefined;
  readonly onFailure?: ((error: HubError) => boolean) | undefined;
  /** The answer for an address that was requested before its turn; see `prefetchPages`. */
  readonly prefetched?: ((url: URL) => Promise<Sent | null> | null) | undefined;
  /** Whether a body is a page that need not be parsed. */
  readonly recognise?: ((text: Buffer) => RememberedPage | null) | undefined;
}

interface Read<T> {
  readonly result: T;
  readonly status: number;
  readonly bytes: number;
}

export type Requests = ReturnType<typeof createRequests>;

interface RequestsOptions extends RetryTools {
  readonly http: HttpClient;
  readonly tokens: TokenSource;
  readonly breaker: Breaker;
  readonly permits: Semaphore;
  /** Wall clock, ms since the epoch. */
  readonly now: () => number;
}

/** Sends requests with a token, and once more with a new one when the hub may have refused an expired token. */
function createSender({ http, tokens, now }: Pick<RequestsOptions, 'http' | 'tokens' | 'now'>) {
  const fruitlessRenewals = new Map<RequestTarget, number>();

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
      mayBeLarge: get.mayBeLarge,
    });
    if (response.status >= 200 && response.status < 300) token.accepted = true;
    return { response, requested, readVersion, tokenAgeMs: now() - token.obtainedAtMs };
  }

  /**
   * Some hubs answer 403 to an expired token. But a missing right must not cost a new token for each request, and a
   * hub may not accept a new token at once. So a token counts as expired only if the hub accepted it before, or if it
   * is no longer young.
   */
  function mayBeExpired({ response, tokenAgeMs }: Sent, wasAccepted: boolean, target: RequestTarget) {
    const { status } = response;
    if (status !== 401 && status !== 403) return false;
    if (!wasAccepted && tokenAgeMs < YOUNG_TOKEN_MS) return false;
    const fruitlessAtMs = fruitlessRenewals.get(target);
    return fruitlessAtMs === undefined || now() - fruitlessAtMs > FRUITLESS_RENEWAL_MS[status];
  }

  return async function sendAuthorised(get: SendOptions): Promise<Sent> {
    const token = await tokens.get(get.signal);
    const wasAccepted = token.accepted;
    const sent = await send(token, get);
    const { status } = sent.response;
    if (parseRetryAfter(sent.response.header('retry-after'), now()) !== undefined) {
      if (status === 401 && sent.tokenAgeMs >= YOUNG_TOKEN_MS) tokens.discard(token);
      return sent;
    }
    if (!mayBeExpired(sent, wasAccepted, get.target)) return sent;
    tokens.discard(token);
    const resent = await send(await tokens.get(get.signal), get);
    if ([401, 403].includes(resent.response.status)) fruitlessRenewals.set(get.target, now());
    return resent;
  };
}

/**
 * Some servers answer 404 if a filter selects nothing. Such a 404 is an empty answer if the server shows the
 * collection without the filter. Otherwise the answer without the filter counts.
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

/**
 * Reports a request. `asksAgain`: whether the caller asks again after a failure, so that the failure is not reported.
 */
async function reported<T extends { readonly status: number; readonly bytes: number }>(
  onEvent: RequestsOptions['onEvent'],
  target: RequestTarget,
  work: () => Promise<T>,
  asksAgain: (error: RollcallError) => boolean,
): Promise<T> {
  const startedAtMs = performance.now();
  const since = (): { durationMs: number } => ({ durationMs: performance.now() - startedAtMs });
  try {
    const done = await work();
    onEvent({ type: 'request-done', target, status: done.status, ...since(), bytes: done.bytes });
    return done;
  } catch (error) {
    if (error instanceof RollcallError && !asksAgain(error)) {
      const status = error instanceof HubError ? error.status : null;
      onEvent({ type: 'request-failed', target, code: error.code, status, ...since() });
    }
    throw error;
  }
}

/** Authorised GETs to one hub, with retries, a circuit breaker and a bound on concurrent requests. */
export function createRequests(options: RequestsOptions) {
  const { breaker, permits, now, onEvent } = options;
  const sendAuthorised = createSender(options);

  function readSent<T>(sent: Sent, get: GetOptions<T>): Read<T> {
    const answer = readAnswer(sent, { where: get.where, nowMs: now(), recognise: get.recognise });
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

  async function attempt<T>(get: GetOptions<T>, mayBeLarge = false): Promise<Read<T>> {
    const prefetched = await readPrefetched(get);
    if (prefetched !== null) return prefetched;
    const release = await permits.acquire(get.signal);
    const send = () => sendFiltered(sendAuthorised, { ...get, mayBeLarge });
    const asksAgain = (error: unknown) => get.large !== undefined && error instanceof LargeAnswer;
    try {
      return await reported(
        onEvent,
        get.target,
        () => breaker(async () => readSent(await send(), get)),
        asksAgain,
      );
    } finally {
      release();
    }
  }

  return {
    /**
     * Sends a request before its turn, once, if a place in the limit of concurrent requests is free; otherwise returns
     * null. Resolves with null if the answer is not a 200: the same request, when it has its turn, will show why.
     */
    inAdvance(get: SendOptions): Promise<Sent | null> | null {
      const release = permits.tryAcquire();
      if (release === null) return null;
      const send = async () => {
        const sent = await sendAuthorised(get);
        const { status, body } = sent.response;
        if (status !== 200) throw new Error('asked again in its turn');
        return { sent, status, bytes: body.length };
      };
      return reported(onEvent, get.target, send, () => true)
        .then(
          ({ sent }) => sent,
          () => null,
        )
        .finally(release);
    },
    async get<T>(get: GetOptions<T>): Promise<T> {
      const { target, signal, onFailure, large } = get;
      const inTurn = () => large?.take((mayBeLarge) => attempt(get, mayBeLarge)) ?? attempt(get);
      const { result } = await withRetries(inTurn, { tools: options, target, signal, onFailure });
      return result;
    },
  };
}
