import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { differences } from '../support/hub-oracle.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { readTopics } from '../support/topic-reader.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { startRollcall, type RollcallProcess } from './rollcall-process.ts';

const TENANTS = Array.from({ length: 12 }, (_, index) => `t${String(index).padStart(2, '0')}`);
const SESSION_MS = 6_000;
/** The others notice within a heartbeat; then they open what they got. The machine may be busy. */
const OPENED_WITHIN_MS = 15_000;

let hub: ReferenceHub;
let topicPrefix: string;
const workers: RollcallProcess[] = [];

beforeAll(async () => {
  hub = await startTestHub({ students: 12 });
  topicPrefix = newTopicPrefix();
});
afterAll(async () => {
  for (const worker of workers) await worker[Symbol.asyncDispose]();
  await hub.stop();
  await deleteTopicsOf(topicPrefix);
});

/** Twelve tenants of one hub. */
function configText(): string {
  const text = configTextOf(hub, topicPrefix, {
    collections: ['users'],
    tenant: { deltaEvery: '1s' },
    settings: { kafka: { session: `${SESSION_MS}ms`, partitions: 1 } },
  });
  const config = JSON.parse(text) as { tenants: [object] };
  const [tenant] = config.tenants;
  return JSON.stringify({ ...config, tenants: TENANTS.map((id) => ({ ...tenant, id })) });
}

async function startWorker(): Promise<RollcallProcess> {
  const worker = await startRollcall(['run'], configText());
  workers.push(worker);
  return worker;
}

/** The tenants that a process says it mirrors, and has loaded; `ready` is that of the process. */
async function mirrored(worker: RollcallProcess): Promise<{ ids: string[]; count: number; ready: boolean }> {
  const response = await fetch(statusUrlOf(worker));
  const { tenants, ready } = (await response.json()) as {
    tenants: (TenantStatus & { isHere: boolean })[];
    ready: boolean;
  };
  const own = tenants.filter(({ isHere }) => isHere);
  const ids = own.filter((each) => each.isOwnerAlive === true && each.ready).map(({ tenant }) => tenant);
  return { ids, count: own.length, ready };
}

/** Waits until these processes together mirror each tenant once, and share them evenly; returns what each has. */
async function shared(among: readonly RollcallProcess[], withinMs: number): Promise<string[][]> {
  return vi.waitFor(
    async () => {
      const all = await Promise.all(among.map(mirrored));
      const ids = all.map((each) => each.ids);
      expect(ids.flat().sort()).toEqual(TENANTS);
      expect(all.map(({ count }) => count)).toEqual(all.map(() => TENANTS.length / among.length));
      return ids;
    },
    { timeout: withinMs, interval: 50 },
  );
}

let changes = 0;

/** A change of the hub reaches every tenant's topic, and no key of it has twice the same content. */
async function expectEveryTopicEqualsHub(): Promise<void> {
  const [id = ''] = hub.district.ids('users');
  changes += 1;
  hub.district.patch('users', id, { givenName: `Name ${changes}` });
  const topics = TENANTS.map((tenant) => `${topicPrefix}.${tenant}.users`);
  await vi.waitFor(
    async () => {
      const records = await readTopics(topics);
      for (const name of topics) {
        const own = records.filter(({ topic }) => topic === name);
        expect(differences({ hub, collection: 'users', records: own })).toEqual([]);
        const hashes = Map.groupBy(own, ({ key }) => key).values();
        for (const same of hashes)
          for (const [at, { headers }] of same.entries())
            expect(headers['content-hash']).not.toBe(same[at - 1]?.headers['content-hash']);
      }
    },
    { timeout: 60_000, interval: 500 },
  );
}

/** `rollcall status` asks the owner of each tenant, whichever process that is. */
async function expectStatusWell(): Promise<void> {
  await using status = await startRollcall(['status', '--json'], configText());
  await status.endsWith(0);
  const { tenants } = JSON.parse(status.output()) as { tenants: TenantStatus[] };
  expect(tenants.map(({ tenant, state }) => [tenant, state])).toEqual(TENANTS.map((id) => [id, 'well']));
}

/** The page of any process shows all tenants, whichever process mirrors them. */
async function expectEveryPageTellsTheWhole(among: readonly RollcallProcess[]): Promise<void> {
  for (const worker of among) {
    const { summary, tenants } = (await (await fetch(statusUrlOf(worker))).json()) as {
      summary: string;
      tenants: TenantStatus[];
    };
    expect(summary).toBe(`${TENANTS.length} tenants: ${TENANTS.length} well`);
    expect(tenants.map(({ tenant }) => tenant).sort()).toEqual(TENANTS);
    expect(tenants.every(({ owner }) => owner?.since !== null)).toBe(true);
    const processes = new Set(tenants.map(({ owner }) => owner?.owner.replace(/-[^-]*$/, '')));
    expect(processes.size).toBe(among.length);
  }
}

function statusUrlOf(worker: RollcallProcess): string {
  return `http://127.0.0.1:${/"port":(\d+)/.exec(worker.output())?.[1]}/status.json`;
}

async function took<T>(what: string, work: Promise<T>): Promise<T> {
  const startedAtMs = performance.now();
  const result = await work;
  console.info(`${what}: ${Math.round(performance.now() - startedAtMs)} ms`);
  return result;
}

describe('workers with the same configuration', () => {
  it('share the tenants: one alone has all, and each one that joins gets its part and moves no other tenant', async () => {
    const first = await startWorker();
    await took('start of one', shared([first], 60_000));
    const second = await startWorker();
    const [kept = []] = await took('join of the second', shared([first, second], 30_000));
    const third = await startWorker();
    const [one = [], two = []] = await took('join of the third', shared([first, second, third], 30_000));
    expect(kept).toEqual(expect.arrayContaining(one));
    expect(kept).not.toEqual(expect.arrayContaining(two));
    await expectEveryTopicEqualsHub();
    // The heartbeats, from which it knows, may be some seconds old.
    await vi.waitFor(expectStatusWell, { timeout: 60_000, interval: 1_000 });
    await vi.waitFor(() => expectEveryPageTellsTheWhole(workers), { timeout: 30_000, interval: 500 });
  });

  it('take over what a worker had that ends by SIGTERM, when it has ended', async () => {
    const [first, ...others] = workers.splice(0) as [RollcallProcess, ...RollcallProcess[]];
    workers.push(...others);
    await using _ = first;
    first.kill('SIGTERM');
    await took('SIGTERM of one', shared(others, OPENED_WITHIN_MS));
    await first.endsWith(0);
    await expectEveryTopicEqualsHub();
  });

  it('take over what a worker had that was killed, within a session, a heartbeat and the opening', async () => {
    await startWorker();
    await shared(workers, 30_000);
    const killed = workers.shift() as RollcallProcess;
    await using _ = killed;
    killed.kill('SIGKILL');
    await took('kill -9 of one', shared(workers, SESSION_MS + OPENED_WITHIN_MS));
    await expectEveryTopicEqualsHub();
  });

  it('take over what a worker had that is stopped; woken, it stops its tenants, commits nothing and joins again', async () => {
    await startWorker();
    await shared(workers, 30_000);
    const [stopped, ...others] = workers as [RollcallProcess, ...RollcallProcess[]];
    stopped.kill('SIGSTOP');
    await took('SIGSTOP of one', shared(others, SESSION_MS + OPENED_WITHIN_MS));
    await expectEveryTopicEqualsHub();
    stopped.kill('SIGCONT');
    await took('SIGCONT of it', shared(workers, 30_000));
    expect(stopped.output()).toContain('Kafka has not confirmed the membership of this process');
    await expectEveryTopicEqualsHub();
  });

  it('end with 0, also all at once', async () => {
    for (const worker of workers) worker.kill('SIGTERM');
    for (const worker of workers) await worker.endsWith(0);
  });
});
