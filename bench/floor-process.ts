import { Agent, type Dispatcher } from 'undici';
import { collectionNamed, type CollectionName } from '../src/model/collections.ts';
import { serveCommands } from './child-process.ts';

/** The cost of the least work that any client must do on the pages of a collection. */
export interface FloorRound {
  readonly rows: number;
  /** µs of CPU a row: downloading all pages with undici, one after another, UTF-8 decoding and `JSON.parse`. */
  readonly fetchAndParse: number;
}

export interface FloorHub {
  readonly baseUrl: string;
  readonly tokenUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
}

const PAGE_ROWS = 1_000;

let agent: Agent | null = null;
let hub: FloorHub | null = null;
let token = '';

async function open(given: FloorHub): Promise<void> {
  hub = given;
  agent = new Agent({ connections: 1 });
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  const { body } = await request(given.tokenUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${btoa(`${given.clientId}:${given.clientSecret}`)}`,
    },
    body: form.toString(),
  });
  token = ((await body.json()) as { access_token: string }).access_token;
}

async function request(
  url: string,
  options: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
): Promise<Dispatcher.ResponseData> {
  if (agent === null) throw new Error('not opened');
  const { origin, pathname, search } = new URL(url);
  return agent.request({ origin, path: `${pathname}${search}`, ...options });
}

/** Page after page as text, by the hub's own links. */
async function* downloaded(collection: CollectionName): AsyncGenerator<string> {
  if (hub === null) throw new Error('not opened');
  const { path } = collectionNamed(collection);
  // Rollcall requests the same: the same order, the same size.
  let url: string | undefined = `${hub.baseUrl}${path}?limit=${PAGE_ROWS}&sort=sourcedId&orderBy=asc`;
  while (url !== undefined) {
    const { statusCode, headers, body } = await request(url, {
      method: 'GET',
      headers: { authorization: `Bearer ${token}`, accept: 'application/json' },
    });
    const page = await body.text();
    if (statusCode !== 200) throw new Error(`the hub answered ${statusCode}`);
    yield page;
    url = /<([^>]*)>; *rel="?next"?/.exec(String(headers['link'] ?? ''))?.[1];
  }
}

/** Keeps no page, whatever the size of the collection. µs of CPU of all threads. */
async function measure(collection: CollectionName): Promise<FloorRound> {
  const { envelope } = collectionNamed(collection);
  const before = process.cpuUsage();
  let rows = 0;
  for await (const text of downloaded(collection)) {
    const page = JSON.parse(text) as Readonly<Record<string, readonly unknown[]>>;
    rows += page[envelope]?.length ?? 0;
  }
  const { user, system } = process.cpuUsage(before);
  return { rows, fetchAndParse: (user + system) / rows };
}

/** Ids of absences that can be replaced: of records that are neither replaced nor deleted, at most that many. */
async function currentAbsences(atMost: number): Promise<readonly string[]> {
  const ids: string[] = [];
  const { envelope } = collectionNamed('absence-versions');
  for await (const text of downloaded('absence-versions')) {
    const page = JSON.parse(text) as Readonly<Record<string, readonly AbsenceLinks[]>>;
    for (const { sourcedId, replacedBy, deletedTime } of page[envelope] ?? []) {
      if (ids.length === atMost) return ids;
      if (replacedBy === null && deletedTime === undefined) ids.push(sourcedId);
    }
  }
  return ids;
}

interface AbsenceLinks {
  readonly sourcedId: string;
  readonly replacedBy: object | null;
  readonly deletedTime?: string;
}

serveCommands({
  handlers: { open, measure, currentAbsences },
  interrupt: () => void agent?.destroy(),
  atEnd: async () => agent?.close(),
});
