import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { ConfigFile } from '../../../src/config/config-file.ts';
import type { PipelineEvent } from '../../../src/core/pipeline-events.ts';
import { assemble } from '../../../src/session/assemble.ts';
import { Board } from '../../../src/telemetry/board.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { runWorker } from '../../../src/worker/worker.ts';
import { sendJson, serve, type ScriptedServer } from '../../unit/hub/support/scripted-hub.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { readTopics } from '../support/topic-reader.ts';
import { deleteTopicsOf } from './kafka-admin.ts';

/** The sick ones come first. Each is a path of one host. */
const SICK = ['hangs', 'fails', 'refused', 'large'] as const;
const WELL = ['north', 'south'] as const;
const TENANTS = [...SICK, ...WELL];
const COLLECTIONS = ['users', 'orgs'];
/** Of each row of `large`: its pages have some 20 MB. */
const PADDING = 'x'.repeat(200_000);
const LARGE_BYTES = 8 * 1024 * 1024;
const WITHIN = { timeout: 150_000, interval: 100 };

let hub: ReferenceHub;
let front: ScriptedServer;
let topicPrefix: string;
/** The largest answer that `large` has got. */
let largest = 0;

/** One host for all tenants, before a hub whose rows they all have. */
function startFront(): Promise<ScriptedServer> {
  const { origin, pathname } = new URL(hub.baseUrl);
  return serve(async ({ url, authorization = '' }, response) => {
    const [, tenant = '', ...rest] = url.pathname.split('/');
    if (tenant === 'hangs') return;
    if (tenant === 'fails') return sendJson(response, {}, { status: 500 });
    const asked = `${origin}${pathname}/${rest.join('/')}${url.search}`;
    const answer = await fetch(asked, { headers: { authorization } });
    const headers: Record<string, string> = {};
    for (const name of ['link', 'date', 'x-total-count']) {
      const value = answer.headers.get(name);
      if (value !== null) headers[name] = value.replaceAll(`${origin}${pathname}`, `${url.origin}/${tenant}`);
    }
    const body = (await answer.json()) as Record<string, unknown>;
    const padded = tenant === 'large' ? mapRows(body, (row) => ({ ...row, padding: PADDING })) : body;
    const text = JSON.stringify(padded);
    if (tenant === 'large') largest = Math.max(largest, text.length);
    return sendJson(response, text, { status: answer.status, headers });
  });
}

function mapRows(body: Record<string, unknown>, change: (row: object) => object): Record<string, unknown> {
  const entries = Object.entries(body).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map((row: object) => change(row)) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

function configText(): string {
  const text = configTextOf(hub, topicPrefix, {
    collections: COLLECTIONS,
    tenant: { deltaEvery: '1s' },
    settings: { kafka: { partitions: 1 } },
  });
  const config = JSON.parse(text) as { tenants: [{ hub: object }] };
  const [tenant] = config.tenants;
  const tenantOf = (id: string): object => {
    const own = { baseUrl: `${front.origin}/${id}`, ...(id === 'refused' ? { clientSecret: 'wrong' } : {}) };
    return { ...tenant, id, hub: { ...tenant.hub, ...own } };
  };
  return JSON.stringify({ ...config, tenants: TENANTS.map(tenantOf) });
}

beforeAll(async () => {
  hub = await startTestHub();
  front = await startFront();
  topicPrefix = newTopicPrefix();
});
afterAll(async () => {
  await front[Symbol.asyncDispose]();
  await hub.stop();
  await deleteTopicsOf(topicPrefix);
});

/** The parts of `rollcall run`. */
function worldOf() {
  const file = new ConfigFile({ path: 'rollcall.yaml', env: {}, readFile: configText });
  const { config } = file;
  const board = new Board(file, { version: '0', now: () => Date.now() });
  const ended: string[] = [];
  const emit = (tenant: string, event: PipelineEvent): void => {
    board.note(tenant, event);
    if (event.type === 'sync-ended' && event.outcome === 'complete')
      ended.push(`${tenant} ${event.collection} ${event.stats.mode}`);
  };
  const logger = createLogger({ level: 'fatal', destination: { write: () => undefined } });
  const assembly = assemble(config, { logger, emit });
  const statusOf = (tenant: string) => board.tenants.find((each) => each.tenant === tenant)?.status();
  const count = (sync: string): number => ended.filter((each) => each === sync).length;
  return { assembly, board, statusOf, count };
}

describe('tenants of one host, of which one hangs, one fails, one is refused and one has pages of 20 MB', () => {
  it('are loaded, and their incremental syncs go on at their interval', async () => {
    const { assembly: made, board, statusOf, count } = worldOf();
    await using assembly = made;
    const stop = new AbortController();
    const running = runWorker(assembly, {
      signal: stop.signal,
      onAssigned: (tenants) => board.hold(tenants),
    });
    running.catch(() => undefined);
    try {
      const loaded = [...WELL, 'large'].flatMap((tenant) =>
        COLLECTIONS.map((name) => `${tenant} ${name} FULL`),
      );
      await vi.waitFor(() => expect(loaded.filter((sync) => count(sync) === 0)).toEqual([]), WITHIN);
      expect(largest).toBeGreaterThan(LARGE_BYTES);
      for (const tenant of WELL)
        for (const name of COLLECTIONS) {
          const sync = `${tenant} ${name} INCREMENTAL`;
          const before = count(sync);
          await vi.waitFor(() => expect(count(sync)).toBeGreaterThanOrEqual(before + 10), WITHIN);
        }
      const [id = ''] = hub.district.ids('users');
      hub.district.patch('users', id, { givenName: 'Changed' });
      const topics = WELL.map((tenant) => `${topicPrefix}.${tenant}.users`);
      await vi.waitFor(async () => {
        const records = await readTopics(topics);
        const changed = records.filter(({ value }) => value?.['givenName'] === 'Changed');
        expect(changed.map(({ topic }) => topic).sort()).toEqual(topics);
      }, WITHIN);
      for (const tenant of WELL)
        await vi.waitFor(() => expect(statusOf(tenant)?.headline).toBe('all well'), WITHIN);
      for (const tenant of ['hangs', 'fails', 'refused'])
        await vi.waitFor(
          () => expect(statusOf(tenant)?.reasons).toMatchObject([{ part: 'hub' }, { part: 'load' }]),
          WITHIN,
        );
      expect(COLLECTIONS.map((name) => count(`hangs ${name} FULL`))).toEqual([0, 0]);
    } finally {
      stop.abort();
      await running;
    }
  }, 600_000);
});
