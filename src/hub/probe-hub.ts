import { createBreaker, DEFAULT_BREAKER_POLICY } from './breaker.ts';
import type { CoreApi } from './core-api.ts';
import type { RequestTarget } from './events.ts';
import { createHttpClient } from './http.ts';
import { listIn, readableId } from './page-body.ts';
import type { HubOptions } from './create-hub.ts';
import { DEFAULT_TIMEOUTS } from './create-hub.ts';
import { readLinks } from './link.ts';
import { readSchedule } from './read-schedule.ts';
import { createRequests, type Requests } from './requests.ts';
import { resourceUrl, withQuery } from './request-url.ts';
import { Semaphore } from './semaphore.ts';
import { createTokenSource } from './token.ts';
import type { Collection } from '../model/collections.ts';

/** What one small page of a collection tells. */
export interface CollectionProbe {
  /** Rows on the page. Null: the answer had no list. */
  readonly rows: number | null;
  /** Rows asked for. */
  readonly asked: number;
  /** `X-Total-Count`, null when absent. */
  readonly total: number | null;
  readonly hasLink: boolean;
  /** Origin of a `next` that leads out of the hub; null when there is none such. */
  readonly foreignOrigin: string | null;
  /** Whether a page after the first began with another row; null when there was none to try. */
  readonly keysetAdvances: boolean | null;
  /** Hub clock minus ours, ms; null without a `Date` header. */
  readonly skewMs: number | null;
  /** Id of the first row: a parent to try nested collections with. */
  readonly firstId: string | null;
}

/** Looks at a hub with a few small requests. Errors are `RollcallError`s with a `HUB_…` code. */
export interface HubProbe extends AsyncDisposable {
  /** Obtains a token; its lifetime in ms. */
  token(signal: AbortSignal): Promise<{ lifetimeMs: number }>;
  /** Status of a request without a token: whether anything answers at the base URL at all. */
  knock(collection: Collection, signal: AbortSignal): Promise<number>;
  collection(options: {
    collection: Collection;
    parentId?: string | undefined;
    signal: AbortSignal;
  }): Promise<CollectionProbe>;
  /** All lessons of a student, as {@link CoreApi.readSchedule} reads them. */
  readonly readSchedule: CoreApi['readSchedule'];
}

const ROWS_ASKED = 2;
const REQUEST_MS = 15_000;
/** Who checks wants an answer now; one repetition spares them a passing trouble. */
const RETRY = { maxAttempts: 2, baseMs: 300, capMs: 1_000, retryAfterCapMs: 2_000 };

export function createHubProbe(options: HubOptions & { now: () => number }): HubProbe {
  const { now, sleep, monotonicNow, random } = withDefaults(options);
  const { tokenUrl, clientId, clientSecret, clientAuth, scope, maxConcurrentRequests } = options;
  const baseUrl = new URL(options.baseUrl);
  const requestMs = Math.min(REQUEST_MS, options.timeouts?.requestMs ?? REQUEST_MS);
  const http = createHttpClient({
    connections: maxConcurrentRequests,
    timeouts: { ...DEFAULT_TIMEOUTS, connectMs: Math.min(5_000, requestMs), requestMs },
    maxResponseBytes: options.maxResponseBytes ?? 64 * 1024 * 1024,
  });
  let lifetimeMs = 0;
  const onEvent: NonNullable<HubOptions['onEvent']> = (event) => {
    if (event.type === 'token-obtained') ({ lifetimeMs } = event);
    options.onEvent?.(event);
  };
  const tokens = createTokenSource({
    tokenUrl,
    clientId,
    clientSecret,
    clientAuth,
    scope,
    http,
    now,
    onEvent,
  });
  const requests = createRequests({
    http,
    tokens,
    // Every collection is to be asked, however many failed before.
    breaker: createBreaker({
      policy: { ...DEFAULT_BREAKER_POLICY, failures: Number.MAX_SAFE_INTEGER },
      hub: baseUrl.origin,
      onEvent,
    }),
    permits: new Semaphore(maxConcurrentRequests),
    tools: { policy: RETRY, random, sleep, onEvent },
    now,
    monotonicNow,
    onEvent,
  });
  return {
    async token(signal) {
      await tokens.get(signal);
      return { lifetimeMs };
    },
    async knock(collection, signal) {
      const url = withQuery(resourceUrl(baseUrl, { collection }), { limit: 1 });
      const where = `${url.origin}${url.pathname}`;
      const headers = { accept: 'application/json' };
      const response = await http.send({
        method: 'GET',
        url,
        headers,
        signal,
        where,
        setting: 'hub.baseUrl',
      });
      return response.status;
    },
    readSchedule: (asked) => readSchedule({ baseUrl, requests, onEvent, firstTime: () => false }, asked),
    collection: (probe) => probeCollection({ baseUrl, requests, now }, probe),
    async [Symbol.asyncDispose]() {
      await http[Symbol.asyncDispose]();
    },
  };
}

function withDefaults(options: HubOptions & { now: () => number }) {
  const sleepFor = async (ms: number, signal: AbortSignal): Promise<void> => {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    });
    signal.throwIfAborted();
  };
  return {
    now: options.now,
    sleep: options.sleep ?? sleepFor,
    monotonicNow: options.monotonicNow ?? (() => performance.now()),
    random: options.random ?? Math.random,
  };
}

async function probeCollection(
  at: { baseUrl: URL; requests: Requests; now: () => number },
  probe: { collection: Collection; parentId?: string | undefined; signal: AbortSignal },
): Promise<CollectionProbe> {
  const { collection, parentId, signal } = probe;
  const base = resourceUrl(at.baseUrl, { collection, parentId });
  // Ids in a path are nothing for messages.
  const where = `${base.origin}${new URL(at.baseUrl).pathname.replace(/\/+$/, '')}${collection.path}`;
  const page = (query: Readonly<Record<string, string | number>>) =>
    at.requests.get({
      target: collection.name satisfies RequestTarget,
      where,
      url: () => withQuery(base, query),
      signal,
      stamp: () => 0,
      read: ({ status, body, total, hubTimeMs, link, requested }) => {
        const rows = status === 204 ? [] : listIn(body, { envelope: collection.envelope, where });
        const links = readLinks(link, { requested, baseUrl: at.baseUrl });
        const { paging, nextOffered, foreignOrigin } = links;
        return { rows, total, hubTimeMs, hasLink: paging || nextOffered, foreignOrigin };
      },
    });
  const first = await page({ limit: ROWS_ASKED });
  const ids = (first.rows ?? []).map(readableId).filter((id) => id !== null);
  const last = ids.at(-1);
  let keysetAdvances: boolean | null = null;
  if (collection.keyset && ids.length >= ROWS_ASKED && last !== undefined) {
    const second = await page({ limit: ROWS_ASKED, afterSourcedId: last });
    keysetAdvances = (second.rows ?? []).map(readableId).find((id) => id !== null) !== ids[0];
  }
  return {
    rows: first.rows?.length ?? null,
    asked: ROWS_ASKED,
    total: first.total,
    hasLink: first.hasLink,
    foreignOrigin: first.foreignOrigin,
    keysetAdvances,
    skewMs: first.hubTimeMs === null ? null : first.hubTimeMs - at.now(),
    firstId: ids[0] ?? null,
  };
}
