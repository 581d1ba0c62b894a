import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createHub, type HubTools } from '../../../../src/hub/create-hub.ts';
import type { HubEvent } from '../../../../src/core/hub-events.ts';
import type { Hub, HubPage, HubSettings, ReadOptions } from '../../../../src/hub/hub.ts';
import { collectionNamed, type CollectionName } from '../../../../src/model/collections.ts';

interface AskedRequest {
  readonly method: string;
  readonly path: string;
  readonly url: URL;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  /** The body of a POST; empty for a GET. */
  readonly body: string;
}

export type Script = (request: AskedRequest, response: ServerResponse) => void | Promise<void>;

/** Starts an HTTP server on a free port that follows the script. */
export async function serve(script: Script) {
  const asked: AskedRequest[] = [];
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', `http://${request.headers.host}`);
    void (async () => {
      const body = await text(request);
      const { authorization } = request.headers;
      const { method = '' } = request;
      const seen = { method, path: url.pathname, url, query: url.searchParams, authorization, body };
      asked.push(seen);
      await script(seen, response);
    })().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  options: { status?: number; headers?: Record<string, string> } = {},
): void {
  response.writeHead(options.status ?? 200, { 'content-type': 'application/json', ...options.headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

export type TestHub = Awaited<ReturnType<typeof testHub>>;

/** Answers by the scripts in turn, and by the last one from then on. */
export const inTurn = (...scripts: readonly Script[]): Script => {
  let asked = 0;
  return (request, response) => {
    asked += 1;
    return scripts[Math.min(asked, scripts.length) - 1]?.(request, response);
  };
};

/** Answers with one status, body and headers. */
export const answer =
  (status: number, body: unknown = {}, headers: Record<string, string> = {}): Script =>
  (_, response) =>
    sendJson(response, body, { status, headers });

/** Makes a client and its server, which issues token-1, token-2, … unless `tokenScript` answers `/token`. */
export async function testHub(
  script: Script,
  options: Partial<HubSettings & HubTools> & { tokenScript?: Script } = {},
) {
  let tokens = 0;
  const { tokenScript, ...overrides } = options;
  const server = await serve(async (request, response) => {
    if (request.path !== '/token') return script(request, response);
    if (tokenScript !== undefined) return tokenScript(request, response);
    tokens += 1;
    return sendJson(response, { access_token: `token-${tokens}`, token_type: 'Bearer', expires_in: 3600 });
  });
  const events: HubEvent[] = [];
  const sleeps: number[] = [];
  let sleptMs = 0;
  const all: HubSettings & HubTools = {
    baseUrl: `${server.origin}/tenant`,
    tokenUrl: `${server.origin}/token`,
    clientId: 'id',
    clientSecret: { reveal: () => 's3cret' },
    clientAuth: 'basic',
    scope: '',
    pageSize: 3,
    paging: 'auto',
    maxConcurrentRequests: 4,
    requestTimeoutMs: 60_000,
    maxResponseBytes: 64 * 1024 * 1024,
    random: () => 0,
    now: () => Date.now() + sleptMs,
    sleep: (ms) => {
      sleeps.push(ms);
      sleptMs += ms;
      return Promise.resolve();
    },
    onEvent: (event) => events.push(event),
    ...overrides,
  };
  const hub = createHub(all, all);
  return {
    hub,
    server,
    events,
    sleeps,
    /** The requests for data, without those for tokens. */
    data: () => server.asked.filter(({ path }) => path !== '/token'),
    tokens: () => server.asked.filter(({ path }) => path === '/token'),
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** Scans to the end. `ids`: the `sourcedId`s in the order of their arrival. */
export async function readAll(hub: Hub, name: CollectionName, options: Partial<ReadOptions> = {}) {
  const scan = hub.readPages({
    collection: collectionNamed(name),
    readVersion: () => 0,
    signal: new AbortController().signal,
    ...options,
  });
  const pages: HubPage[] = [];
  for (;;) {
    const next = await scan.next();
    if (next.done === true) {
      const ids = pages.flatMap(({ rows }) =>
        rows.map((row) => String((row as { sourcedId?: unknown } | null)?.sourcedId)),
      );
      return { pages, end: next.value, ids };
    }
    pages.push(next.value);
  }
}

interface Read {
  /** Users, if left out. */
  readonly of?: CollectionName;
  /** Since the begin, by the client's clock; sleeps take time too. */
  readonly atMs?: number;
  readonly options?: Partial<ReadOptions>;
}

/** Has a client read from a hub that answers in turn; tells what came of the last read and of each, and what was asked. */
export async function exchange(
  scripts: readonly Script[],
  options: NonNullable<Parameters<typeof testHub>[1]> & { readonly reads?: readonly Read[] } = {},
) {
  const { reads = [{}], ...settings } = options;
  let nowMs = START_MS;
  const sleeps: number[] = [];
  const tools = {
    now: () => nowMs,
    sleep: async (ms: number) => {
      sleeps.push(ms);
      nowMs += ms;
    },
  };
  await using test = await testHub(inTurn(...scripts), { ...tools, ...settings });
  const outcomes: (Partial<Awaited<ReturnType<typeof readAll>>> & { readonly error?: unknown })[] = [];
  for (const { of = 'users', atMs = nowMs - START_MS, options: read } of reads) {
    nowMs = START_MS + atMs;
    outcomes.push(await readAll(test.hub, of, read).catch((error: unknown) => ({ error })));
  }
  const asked = test.data();
  return {
    ...outcomes.at(-1),
    outcomes,
    asked,
    requests: asked.length,
    limits: asked.map(({ query }) => Number(query.get('limit'))),
    tokens: test.tokens(),
    sleeps,
    events: test.events,
  };
}

/** When an {@link exchange} begins, ms since the epoch. */
export const START_MS = Date.UTC(1994, 10, 6, 8, 49, 0);

/** For a list of one page. */
export const LAST_PAGE = { link: '<x>; rel="first"' };

/** The only page, with one row. */
export const PAGE = answer(200, { users: [{ sourcedId: 'a' }] }, LAST_PAGE);

/** An address where nobody listens. */
export async function goneOrigin(): Promise<string> {
  await using gone = await serve(() => undefined);
  return gone.origin;
}
