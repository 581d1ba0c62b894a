import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { sendJson, serve } from '../../unit/hub/support/scripted-hub.ts';
import { configTextOf, newTopicPrefix } from '../support/mirror.ts';
import { deleteTopicsOf } from '../support/stack-kafka.ts';
import { PROGRAM, startNode } from '../support/running.ts';

const ROWS = 70_000;
/** Path and property of each collection. */
const NAMES = {
  orgs: 'orgs',
  courses: 'courses',
  users: 'users',
  'academic-sessions': 'academicSessions',
} as const;
/** The chart gives 1 GiB, of which V8 takes half for its heap. */
const CHART_MIB = 1024;
const CHART_NODE = ['--max-old-space-size=512'];
/** Only a process that hangs takes so long, however busy the machine is. */
const LOADED_WITHIN_MS = 1_200_000;

/** About 60 MB, just below the default of hub.maxResponseBytes. */
function listOf(property: string): Buffer {
  const text = 'x'.repeat(190);
  const rows = Array.from({ length: ROWS }, (_, n) =>
    JSON.stringify({
      sourcedId: `${property}-${100_000 + n}`,
      status: 'active',
      dateLastModified: '2026-01-01T00:00:00Z',
      name: `${text} ${n}`,
      title: `${text} ${n}`,
      givenName: `${text} ${n}`,
      familyName: String(n),
      username: `user ${n}`,
      enabledUser: 'true',
      type: property === 'orgs' ? 'school' : 'term',
      startDate: '2026-01-01',
      endDate: '2026-06-30',
      schoolYear: '2026',
      role: 'student',
      orgs: [],
    }),
  );
  return Buffer.from(`{"${property}":[${rows.join(',')}]}`);
}

/** A hub that honours the cursor and ignores `limit`. */
async function startHub() {
  const lists = new Map<string, Buffer>(Object.values(NAMES).map((property) => [property, listOf(property)]));
  const server = await serve(({ path, query }, response) => {
    if (path === '/token')
      return sendJson(response, { access_token: 'token', token_type: 'Bearer', expires_in: 3600 });
    const property = path.split('/').at(-1) ?? '';
    const filter = query.get('filter') ?? '';
    const asked = [...filter.matchAll(/sourcedId='([^']+)'/g)].map(([, sourcedId]) => ({ sourcedId }));
    if (query.has('afterSourcedId') || filter !== '') return sendJson(response, { [property]: asked });
    response.setHeader('content-type', 'application/json');
    response.end(lists.get(property));
  });
  return Object.assign(server, { largest: Math.max(...[...lists.values()].map(({ length }) => length)) });
}

/** Matches the line of the log about a complete full sync of a collection. */
function fullSyncOf(collection: string): RegExp {
  return new RegExp(`"collection":"${collection}".*"outcome":"complete","why":null,"mode":"FULL"`);
}

/** The most memory that a process has taken so far. */
function peakMiB(pid: number): number {
  const kib = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib) / 1024;
}

it(
  "the chart's memory suffices for two tenants, each with two collections of 70,000 rows on one page",
  async () => {
    await using hub = await startHub();
    expect(hub.largest).toBeGreaterThan(50_000_000);
    expect(hub.largest).toBeLessThan(64 * 1024 * 1024);
    const collections = Object.keys(NAMES);
    const topicPrefix = newTopicPrefix();
    const { origin } = hub;
    const text = configTextOf(
      { baseUrl: origin, tokenUrl: `${origin}/token`, clientId: 'id', clientSecret: 'secret' },
      topicPrefix,
      // To parse such a page keeps a busy machine from its heartbeats.
      { settings: { kafka: { session: '1m' } } },
    );
    const { tenants, ...settings } = JSON.parse(text) as { tenants: object[] };
    const of = (id: string, some: readonly string[]) => ({ ...tenants[0], id, collections: some });
    const both = [of('north', collections.slice(0, 2)), of('south', collections.slice(2))];
    const config = JSON.stringify({ ...settings, tenants: both });
    onTestFinished(() => deleteTopicsOf(topicPrefix));
    await using process = startNode(config, (path) => [...CHART_NODE, PROGRAM, 'run', '--config', path]);
    // Each by itself: on a busy machine a session may fail, and the next one loads some of them again.
    const isLoaded = (): boolean => collections.every((name) => fullSyncOf(name).test(process.output()));
    await process.until('all collections are loaded', isLoaded, LOADED_WITHIN_MS);
    expect(peakMiB(process.pid)).toBeLessThan(CHART_MIB);
  },
  LOADED_WITHIN_MS,
);
