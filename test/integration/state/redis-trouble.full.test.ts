import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { RollcallError } from '../../../src/errors.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import type { StateStore } from '../../../src/state/index-store.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import type { RedisStoreOptions } from '../../../src/state/redis-store.ts';
import { allKeys, positionAt, set } from '../../unit/state/index-store-contract.ts';
import { startOwnRedis } from '../../faults/support/own-redis.ts';
import { startProxy } from '../../faults/support/proxy.ts';

const refused = { code: 'INDEX_REFUSED' };
const unreachable = { code: 'INDEX_UNREACHABLE' };
const diverged = { code: 'INDEX_DIVERGED' };

const server = await startOwnRedis();
const { admin } = server;
const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await admin.config('SET', 'maxmemory', '0');
  await admin.flushall();
});

afterAll(() => server[Symbol.asyncDispose]());

function newStore(options: Partial<RedisStoreOptions> = {}): StateStore {
  const store = createRedisStore({ keyPrefix: 'rc', url: server.url, ...options });
  closing.push(() => store.close());
  return store;
}

describe.each(['users', 'absence-versions'] as const)('%s', (collection) => {
  const index = () => newStore().tenant('north').collection(collection);
  const keyOf = (part: string) => `{rc:north}:${collection}:${part}`;
  const areas = areasOf(collection);
  const full = areas.flatMap((area) => ['a', 'b'].map((key) => Object.assign(set(key), { area })));

  /** @param expected the transaction that its user knows */
  async function expectUnknown(expected: string | null): Promise<void> {
    const unknown = index();
    expect(await unknown.position()).toBeNull();
    await expect(unknown.lookup('rows', ['a'], expected)).rejects.toMatchObject(diverged);
    await expect(unknown.apply(expected, positionAt(2), [])).rejects.toMatchObject(diverged);
    await expect(unknown.resume(positionAt(1))).rejects.toMatchObject(diverged);
  }

  it('an index that lost an area, a key or its position is unknown, not empty', async () => {
    for (const lose of [
      ...areas.map((area) => () => admin.del(keyOf(area))),
      ...areas.map((area) => () => admin.hdel(keyOf(area), 'a')),
      () => admin.del(keyOf('position')),
      () => admin.flushall(),
    ]) {
      await admin.flushall();
      await index().apply(null, positionAt(1), full);
      expect(await index().position()).toEqual(positionAt(1));
      await lose();
      await expectUnknown('tx-1');
    }
    expect(await admin.dbsize()).toBe(0);
  });

  it('an index of which one area is left is unknown, and a rebuild removes the area', async () => {
    for (const area of areas) {
      await admin.hset(keyOf(area), 'a', randomBytes(16));
      await expectUnknown(null);
      await index().rebuild();
      expect(await admin.keys('*')).toEqual([keyOf('position')]);
      await admin.flushall();
    }
  });

  it('an index with the layout of another version is unknown, not empty', async () => {
    for (const counts of [{ rowCount: 1, rejectCount: 0 }, { rowsCount: 1 }]) {
      await admin.hset(keyOf('rows'), 'a', randomBytes(16));
      const position = JSON.stringify(positionAt(1));
      await admin.hset(keyOf('position'), { transactionId: 'tx-1', position, ...counts });
      await expectUnknown('tx-1');
      await (await index().rebuild()).finish(positionAt(1));
      expect([await index().position(), await index().count('rows')]).toEqual([positionAt(1), 0]);
      await admin.flushall();
    }
  });
});

it('a wrong or missing Redis password is reported as a refusal, and no error shows the password', async () => {
  await admin.acl('SETUSER', 'mirror', 'on', '>right-secret', '~*', '&*', '+@all');
  await admin.config('SET', 'requirepass', 'secret');
  const inUrl = server.url.replace('://', '://mirror:wrong-secret@');
  for (const store of [
    newStore({ username: 'mirror', password: () => 'wrong-secret' }),
    newStore({ url: inUrl }),
    newStore(),
  ]) {
    const error: unknown = await store.ready().catch((thrown: unknown) => thrown);
    const message = expect.stringContaining('password') as string;
    expect(error).toMatchObject({ ...refused, message, remedy: expect.stringContaining('redis.password') });
    expect((error as Error).cause).toBeUndefined();
    const shown = `${String(error)} ${JSON.stringify(error)} ${String((error as Error).stack)}`;
    expect(shown).not.toContain('wrong-secret');
  }
  await newStore({ url: server.url.replace('://', '://mirror:right-secret@') }).ready();
  await admin.config('SET', 'requirepass', '');
});

it('missing Redis rights are found at the start, and the rights that the remedy names are enough', async () => {
  await admin.acl('SETUSER', 'poor', 'reset', 'on', '>p', '~*', '+@read', '+info');
  const keyPrefix = 'rc:rollcall';
  const error: unknown = await newStore({ keyPrefix, username: 'poor', password: () => 'p' })
    .ready()
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ ...refused, remedy: expect.stringContaining('+evalsha') });
  const [, named = ''] = /Grant the Redis user: (.+)$/.exec((error as RollcallError).remedy) ?? [];
  const rights = named.replace('<keyPrefix>', 'rc').split(' ');
  await admin.acl('SETUSER', 'enough', 'reset', 'on', '>p', ...rights);
  const store = newStore({ keyPrefix, username: 'enough', password: () => 'p' });
  await store.ready();
  const tenant = store.tenant('north');
  const { deletions } = tenant;
  const index = tenant.collection('users');
  await index.apply(null, positionAt(1), [set('a')]);
  await index.lookup('rows', ['a'], 'tx-1');
  expect(await allKeys(index)).toEqual(new Set(['a']));
  await (await index.rebuild()).finish(positionAt(2));
  const keys = new Map([['a', { sinceMs: 1, times: 1 }]]);
  await deletions.setMissing('users', { syncId: 's', confirmAtMs: null, confirmsAll: false, keys });
  await deletions.setMissing('users', null);
  await store.coordination.announce('north', { owner: 'me', ownedSinceMs: 1, info: {} }, 1_000);
  await store.coordination.leave('north', { id: 'r', kind: 'pull', parameters: {} });
  expect(await store.coordination.take('north', 'me')).not.toBeNull();
});

it('a full Redis refuses an index write, and nothing of the write is stored', async () => {
  const store = newStore();
  const index = store.tenant('north').collection('users');
  const kept = set('kept');
  await index.apply(null, positionAt(1), [kept]);
  await admin.config('SET', 'maxmemory', '1');
  const full = { ...refused, message: expect.stringContaining('full') };
  await expect(store.ready()).rejects.toMatchObject(full);
  const changes = Array.from({ length: 9_000 }, (_, at) => set(`k${at}`));
  await expect(
    index.apply('tx-1', positionAt(2), [{ ...kept, value: null }, ...changes]),
  ).rejects.toMatchObject(full);
  // Up to Redis 7 a full Redis refuses every transaction, even one that only reads.
  const read = await index.lookup('rows', ['kept'], 'tx-1').catch((error: unknown) => error);
  expect([[kept.value], expect.objectContaining(full)]).toContainEqual(read);
  await admin.config('SET', 'maxmemory', '0');
  expect(await index.lookup('rows', ['kept', 'k0'], 'tx-1')).toEqual([kept.value, null]);
  await index.apply('tx-1', positionAt(2), changes);
  expect(await index.count('rows')).toBe(9_001);
});

const configure = (name: string, value: string) => () => admin.config('SET', name, value);
const permit = (command: string) => () => admin.acl('SETUSER', 'default', command);
type Step = () => Promise<unknown>;
/** How the message names it, a word of its remedy, and how an administrator or a fault begins and ends it. */
const REFUSALS: readonly (readonly [is: string, says: string, remedy: string, begin: Step, end: Step])[] = [
  [
    'has a client too many',
    'accepts no more clients',
    'Raise maxclients',
    configure('maxclients', '1'),
    configure('maxclients', '1000'),
  ],
  ['does not permit what a script does', 'does not permit', '+hset', permit('-hset'), permit('+@all')],
  ['loads its data', 'still loading', 'retries', loadSlowly, () => loaded],
];
let loaded: Promise<unknown> = Promise.resolve();

/** Redis answers others only between some megabytes of its data. */
async function loadSlowly(): Promise<void> {
  for (let at = 0; at < 30; at += 1) await admin.set(`large-${at}`, randomBytes(1_500_000));
  await admin.config('SET', 'key-load-delay', '400000');
  loaded = admin.debug('RELOAD').then(async () => admin.config('SET', 'key-load-delay', '0'));
  const other = admin.duplicate({ enableReadyCheck: false });
  await vi.waitUntil(async () => /^loading:1/m.test(await other.info('persistence')));
  other.disconnect();
}

it.each(REFUSALS)(
  'each attempt at a Redis that %s says so with a remedy, until Redis can be used again',
  async (_, says, remedy, begin, end) => {
    const store = newStore({ connectTimeoutMs: 3_000 });
    const named = { message: expect.stringContaining(says), remedy: expect.stringContaining(remedy) };
    await begin();
    try {
      await expect(store.ready()).rejects.toMatchObject(named);
      const beat = { owner: 'me', ownedSinceMs: 1, info: {} };
      for (let attempt = 0; attempt < 2; attempt += 1)
        await expect(store.coordination.announce('north', beat, 1_000)).rejects.toMatchObject(named);
    } finally {
      await end();
    }
    await vi.waitFor(() => store.ready());
  },
);

it("the index refuses another program's data under its Redis keys, and keeps its position", async () => {
  const index = newStore().tenant('north').collection('users');
  await index.apply(null, positionAt(1), [set('a')]);
  await admin.set('{rc:north}:users:rejects', 'not a hash');
  await expect(index.apply('tx-1', positionAt(2), [set('b')])).rejects.toMatchObject(refused);
  await admin.del('{rc:north}:users:rejects');
  expect(await index.lookup('rows', ['b'], 'tx-1')).toEqual([null]);
});

it('a Redis that cannot be reached is reported as unreachable, and used once Redis is back', async () => {
  await using proxy = await startProxy(new URL(server.url).host);
  const store = newStore({ url: `redis://${proxy.address}`, commandTimeoutMs: 1_000 });
  for (const trouble of ['cut', 'cut', 'half-open'] as const) {
    proxy.begin(trouble);
    await expect(store.ready()).rejects.toMatchObject(unreachable);
    proxy.mend();
    await vi.waitFor(() => store.ready());
  }
  await expect(newStore({ url: 'redis://127.0.0.1:1' }).ready()).rejects.toMatchObject({
    ...unreachable,
    message: expect.stringContaining('127.0.0.1:1 '),
  });
  await store.close();
  await expect(store.ready()).rejects.toMatchObject(unreachable);
});
