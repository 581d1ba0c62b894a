import { afterAll, expect, it, vi } from 'vitest';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { differences } from '../../oracle/rows.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { startProcess, type RollcallProcess } from '../support/running.ts';
import { deleteTopicsOf, readTopics } from '../support/stack-kafka.ts';

const TENANTS = ['t0', 't1', 't2', 't3', 't4', 't5'];
const SESSION_MS = 6_000;
/** The others notice within a heartbeat; then they open what they got. The machine may be busy. */
const OPENED_WITHIN_MS = 15_000;

const hub = await startTestHub({ students: 12 });
const topicPrefix = newTopicPrefix();
const workers: RollcallProcess[] = [];

afterAll(async () => {
  for (const worker of workers) await worker[Symbol.asyncDispose]();
  await hub.stop();
  await deleteTopicsOf(topicPrefix);
});

function startWorker(): void {
  const settings = { kafka: { session: `${SESSION_MS}ms`, partitions: 1 } };
  const mirrored = { collections: ['users'], tenant: { incrementalEvery: '1s' }, settings };
  workers.push(startProcess(configTextOf(hub, topicPrefix, mirrored, TENANTS), 'run'));
}

interface Board {
  readonly summary: string;
  readonly tenants: readonly (TenantStatus & { readonly isHere: boolean })[];
}

function boards(): Promise<Board[]> {
  return Promise.all(
    workers.map(async (worker) => (await (await worker.get('/status.json')).json()) as Board),
  );
}

/** Waits until the processes together mirror each tenant once, and share them evenly; returns what each has. */
function shared(withinMs: number): Promise<string[][]> {
  return vi.waitFor(
    async () => {
      const own = (await boards()).map(({ tenants }) => tenants.filter(({ isHere }) => isHere));
      const ids = own.map((all) =>
        all.filter((each) => each.isOwnerAlive === true && each.ready).map(({ tenant }) => tenant),
      );
      expect(ids.flat().sort()).toEqual(TENANTS);
      expect(own.map(({ length }) => length)).toEqual(own.map(() => TENANTS.length / workers.length));
      return ids;
    },
    { timeout: withinMs, interval: 50 },
  );
}

/** A change of the hub reaches every tenant's topic, in which no record stands twice. */
async function expectEveryTopicEqualsHub(name: string): Promise<void> {
  hub.district.patch('users', hub.district.ids('users')[0] ?? '', { givenName: name });
  const topics = TENANTS.map((tenant) => `${topicPrefix}.${tenant}.users`);
  await vi.waitFor(
    async () => {
      const all = Map.groupBy(await readTopics(topics), ({ topic }) => topic);
      for (const topic of topics) {
        const records = all.get(topic) ?? [];
        expect(differences({ hub, collection: 'users', records })).toEqual([]);
      }
    },
    { timeout: 60_000, interval: 500 },
  );
}

it('workers share the tenants, and one that joins gets its part and moves no other tenant', async () => {
  startWorker();
  startWorker();
  const before = await shared(120_000);
  startWorker();
  const after = await shared(120_000);
  for (const at of [0, 1]) expect(before[at]).toEqual(expect.arrayContaining(after[at] ?? []));
  await expectEveryTopicEqualsHub('one');
  const summary = `${TENANTS.length} tenants: ${TENANTS.length} well`;
  // The heartbeats, from which they know, may be some seconds old.
  await vi.waitFor(
    async () => expect(await boards()).toMatchObject(workers.map(() => ({ summary }))),
    60_000,
  );
});

it('workers take over what a worker had that was killed, within a session, a heartbeat and the opening', async () => {
  await using killed = workers.shift() as RollcallProcess;
  killed.kill('SIGKILL');
  await shared(SESSION_MS + OPENED_WITHIN_MS);
  await expectEveryTopicEqualsHub('two');
});

it('workers end with 0, also all at once', async () => {
  for (const worker of workers) worker.kill('SIGTERM');
  for (const worker of workers) await worker.endsWith(0);
});
