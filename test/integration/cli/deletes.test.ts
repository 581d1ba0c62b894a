import { Kafka, logLevel, type Admin, type Transaction } from 'kafkajs';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import { connectAdmin } from './support/connect-admin.ts';
import { startTestTenant, type TestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';

let tenant: TestTenant;
/** Each test removes some of the courses that the one before has left. */
let courses: string[];
beforeAll(async () => {
  tenant = await startTestTenant();
  const [school = ''] = tenant.hub.district.ids('orgs');
  tenant.hub.district.patch('orgs', school, { name: 'Oppdiktet skole' });
  for (let at = 0; at < 60; at += 1)
    tenant.hub.district.put('courses', {
      sourcedId: `course-${String(at).padStart(2, '0')}`,
      title: `Course ${at}`,
      org: { href: '', sourcedId: school, type: 'org' },
    });
  await tenant.sync('FULL', ['orgs', 'courses', 'users']);
});
afterAll(() => tenant[Symbol.asyncDispose]());
beforeEach(() => {
  courses = [...tenant.hub.district.ids('courses')].sort();
});

function takeAway(ids: readonly string[]): void {
  for (const id of ids) tenant.hub.district.remove('courses', id);
}

/** Later records of `progress` cannot be read until this transaction ends, as before the markers of a commit are written. */
async function holdStableEnd(): Promise<{ begin(): Promise<Transaction> } & AsyncDisposable> {
  const kafka = new Kafka({ brokers: inject('stack').kafkaBrokers, logLevel: logLevel.NOTHING });
  const producer = kafka.producer({ transactionalId: `${tenant.topicPrefix}-stranger`, idempotent: true });
  await producer.connect();
  // The first transaction of a producer is slow.
  await (await producer.transaction()).abort();
  const topic = `${tenant.topicPrefix}.north.progress`;
  return {
    async begin() {
      const transaction = await producer.transaction();
      await transaction.send({ topic, messages: [{ key: 'stranger', value: null, partition: 0 }] });
      return transaction;
    },
    [Symbol.asyncDispose]: () => producer.disconnect(),
  };
}

async function waitingCourses(): Promise<number> {
  const { topicPrefix } = tenant;
  const store = createRedisStore({
    url: inject('stack').redisUrl,
    keyPrefix: `${topicPrefix}:${topicPrefix}`,
  });
  try {
    return (await store.tenant('north').deletions.withheld('courses')).size;
  } finally {
    await store.close();
  }
}

/** Consumer groups that have read `progress` without owning the tenant. */
async function readersOfProgress(admin: Admin): Promise<number> {
  const { groups } = await admin.listGroups();
  return groups.filter(({ groupId }) => groupId.startsWith(`${tenant.topicPrefix}.progress.`)).length;
}

const deletes = (...args: string[]) => rollcall(tenant.configPath, 'deletes', ...args);

describe('rollcall deletes', () => {
  it('list shows that no deletion is withheld, or which ones are', async () => {
    const before = await deletes('list');
    expect([before.code, before.stdout]).toEqual([0, expect.stringContaining('no deletion is withheld')]);
    const gone = courses.slice(0, courses.length - 20);
    takeAway(gone);
    await tenant.sync('FULL', ['courses']);
    const listed = await deletes('list', '--json');
    expect([listed.code, listed.stderr]).toEqual([3, '']);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      waits: true,
      tenants: [
        {
          tenant: 'north',
          collections: [{ collection: 'courses', count: gone.length, keys: gone, heldBy: null }],
        },
      ],
    });
    const people = await deletes('list', '--collection', 'courses');
    expect(people.stdout).toContain('half or more would be removed');
    expect(people.stdout).toContain(gone[9]);
    expect(people.stdout).not.toContain(gone[10]);
    // What a person can judge: how many of which school, by its name.
    const ofSchool = gone.filter((id) => id.startsWith('course-')).length;
    expect(people.stdout).toMatch(new RegExp(`by school: .*Oppdiktet skole ${ofSchool}`));
    expect((await deletes('list', '--keys')).stdout).toContain(gone[10]);
    const status = await rollcall(tenant.configPath, 'status');
    expect([status.code, status.stdout]).toEqual([3, expect.stringContaining('rollcall deletes approve')]);
  });

  it('approve --list releases nothing for the digest of another list, and everything for that of this one', async () => {
    const other = await deletes('approve', '--list', '0123456789ab');
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining('there is no list 0123456789ab')]);
    const listed = JSON.parse((await deletes('list', '--json')).stdout);
    const { digest, count } = listed.tenants[0].collections[0];
    const approved = await deletes('approve', '--list', digest, '--json');
    expect(approved.code).toBe(0);
    expect(JSON.parse(approved.stdout)).toMatchObject({
      waits: false,
      tenants: [{ collections: [{ collection: 'courses', outcome: 'done', released: count, back: 0 }] }],
    });
    expect((await deletes('list')).code).toBe(0);
    expect((await rollcall(tenant.configPath, 'status')).code).toBe(0);
  });

  it('approve is handled by the running process, which continues', async () => {
    const gone = courses.slice(0, 12);
    takeAway(gone);
    await tenant.sync('FULL', ['courses']);
    const running = startRollcall(tenant.configPath, ['run']);
    await running.says('mirroring');
    const approved = await deletes('approve');
    expect([approved.code, approved.stderr]).toEqual([
      0,
      expect.stringContaining('asking the process that runs'),
    ]);
    expect(approved.stdout).toMatch(/courses\s+released\s+12\s+12\s+0\s+0/);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('approve reports what the owner has released, even before its commit can be read', async () => {
    const gone = Array.from({ length: 79 }, (_, at) => `late-${at}`);
    for (const id of gone) tenant.hub.district.put('courses', { sourcedId: id, title: id });
    await tenant.sync('FULL', ['courses']);
    takeAway(gone);
    await tenant.sync('FULL', ['courses']);
    const running = startRollcall(tenant.configPath, ['run']);
    await running.says('mirroring');
    await using stableEnd = await holdStableEnd();
    const admin = await connectAdmin();
    const approving = startRollcall(tenant.configPath, ['deletes', 'approve']);
    await approving.says('asking the process that runs');
    const open = await stableEnd.begin();
    const readersBefore = await readersOfProgress(admin);
    await vi.waitFor(async () => expect(await waitingCourses()).toBe(0), 30_000);
    const isReading = async (): Promise<void> =>
      expect(await readersOfProgress(admin)).toBeGreaterThan(readersBefore);
    await Promise.race([approving.ended, vi.waitFor(isReading, { timeout: 30_000, interval: 20 })]);
    await open.abort();
    const approved = await approving.ended;
    expect([approved.code, approved.stdout]).toEqual([
      0,
      expect.stringMatching(/courses\s+released\s+79\s+79\s+0\s+0/),
    ]);
    await admin.disconnect();
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it('discard releases nothing and leaves no deletion waiting', async () => {
    const gone = courses.slice(0, courses.length - 1);
    takeAway(gone);
    await tenant.sync('FULL', ['courses']);
    expect((await deletes('list')).code).toBe(3);
    const discarded = await deletes('discard', '--json');
    expect(discarded.code).toBe(0);
    expect(JSON.parse(discarded.stdout)).toMatchObject({
      tenants: [
        { collections: [{ collection: 'courses', outcome: 'done', listed: gone.length, released: 0 }] },
      ],
    });
    expect((await deletes('list')).code).toBe(0);
    expect((await rollcall(tenant.configPath, 'status')).code).toBe(0);
  });

  it.each(['list', 'approve', 'discard'])('refuses %s without Redis, and says what to do', async (verb) => {
    const { code, stderr } = await rollcall(tenant.configWith({ redisUrl: null }), 'deletes', verb);
    expect([code, stderr]).toEqual([2, expect.stringContaining('Add redis.url')]);
  });

  it('refuses a collection that is not mirrored', async () => {
    const { code, stderr } = await deletes('list', '--collection', 'results');
    expect([code, stderr]).toEqual([2, expect.stringContaining('results is not mirrored')]);
  });
});
