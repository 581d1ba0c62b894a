import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { areasOf } from '../../../src/state/index-store.ts';
import type { StateStore } from '../../../src/state/index-store.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';
import type { RedisStoreOptions } from '../../../src/state/redis-store.ts';
import { allKeys, positionAt, set } from '../../unit/state/index-store-contract.ts';
import { startFrailProxy } from './frail-proxy.ts';
import { startOwnRedis } from './own-redis.ts';

const refused = { code: 'INDEX_REFUSED' };
const unreachable = { code: 'INDEX_UNREACHABLE' };
const diverged = { code: 'INDEX_DIVERGED' };

describe('trouble with Redis', () => {
  let server: Awaited<ReturnType<typeof startOwnRedis>>;
  let admin: Redis;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    server = await startOwnRedis();
    admin = new Redis(server.url);
  });

  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await admin.config('SET', 'maxmemory', '0');
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.replicaof('NO', 'ONE');
    await admin.flushall();
  });

  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  function storeAt(url: string, options: Partial<RedisStoreOptions> = {}): StateStore {
    const store = createRedisStore({ keyPrefix: 'rc', ...options, url });
    closing.push(() => store.close());
    return store;
  }

  function newStore(options: Partial<RedisStoreOptions> = {}): StateStore {
    return storeAt(server.url, options);
  }

  function urlWith(username: string, password: string): string {
    const url = new URL(server.url);
    url.username = username;
    url.password = password;
    return url.href;
  }

  it('a correctly configured Redis is accepted, and nothing is written to it', async () => {
    const store = newStore();
    await expect(store.ready()).resolves.toBeUndefined();
    expect(await admin.keys('*')).toEqual([]);
  });

  it('a Redis that may evict the index is refused', async () => {
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await admin.config('SET', 'maxmemory-policy', policy);
      await expect(newStore().ready()).rejects.toMatchObject({
        ...refused,
        message: expect.stringContaining(policy),
        remedy: expect.stringContaining('noeviction'),
      });
    }
  });

  it('the loss of a hash or of the position is reported as a diverged index, not as an empty collection', async () => {
    const store = newStore();
    const index = store.tenant('north').collection('users');
    for (const lost of ['rows', 'rejects', 'position']) {
      await admin.flushall();
      await index.apply(null, positionAt(1), [set('a'), { ...set('b'), area: 'rejects' }]);
      expect(await admin.del(`{rc:north:users}:${lost}`)).toBe(1);
      expect(await index.position()).toBeNull();
      await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toMatchObject(diverged);
      await expect(index.apply('tx-1', positionAt(2), [])).rejects.toMatchObject(diverged);
      await expect(index.resume(positionAt(1))).rejects.toMatchObject(diverged);
    }
  });

  it('the loss of any area of the chains, or of a part of one, is noticed', async () => {
    const index = newStore().tenant('north').collection('absence-versions');
    const areas = areasOf('absence-versions');
    const changes = areas.flatMap((area) => [
      { ...set('a'), area },
      { ...set('b'), area },
    ]);
    for (const lost of areas) {
      for (const lose of [
        () => admin.del(`{rc:north:absence-versions}:${lost}`),
        () => admin.hdel(`{rc:north:absence-versions}:${lost}`, 'a'),
      ]) {
        await admin.flushall();
        await index.apply(null, positionAt(1), changes);
        expect(await index.position()).toEqual(positionAt(1));
        expect(await lose()).toBe(1);
        expect(await index.position()).toBeNull();
        await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toMatchObject(diverged);
        await expect(index.apply('tx-1', positionAt(2), [])).rejects.toMatchObject(diverged);
        await expect(index.resume(positionAt(1))).rejects.toMatchObject(diverged);
      }
    }
  });

  it('chains without their position are reported as a diverged index, not as an empty one', async () => {
    const index = newStore().tenant('north').collection('absence-versions');
    for (const area of areasOf('absence-versions')) {
      await admin.flushall();
      await index.apply(null, positionAt(1), [{ ...set('a'), area }]);
      expect(await admin.del('{rc:north:absence-versions}:position')).toBe(1);
      expect(await index.position()).toBeNull();
      await expect(index.lookup(area, ['a'], null)).rejects.toMatchObject(diverged);
      await expect(index.apply(null, positionAt(1), [])).rejects.toMatchObject(diverged);
      await index.rebuild();
      expect(await admin.keys('*')).toEqual(['{rc:north:absence-versions}:position']);
    }
  });

  it('an index in the layout of another version is rebuilt, not read', async () => {
    for (const collection of ['users', 'absence-versions'] as const) {
      const index = newStore().tenant('north').collection(collection);
      const before = JSON.stringify(positionAt(1));
      for (const counts of [{ rowCount: 1, rejectCount: 0 }, { rowsCount: 1 }]) {
        await admin.hset(`{rc:north:${collection}}:rows`, 'a', randomBytes(16));
        const position = { transactionId: 'tx-1', position: before, ...counts };
        await admin.hset(`{rc:north:${collection}}:position`, position);
        expect(await index.position()).toBeNull();
        await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toMatchObject(diverged);
        await expect(index.apply('tx-1', positionAt(2), [])).rejects.toMatchObject(diverged);
        await expect(index.resume(positionAt(1))).rejects.toMatchObject(diverged);
        await (await index.rebuild()).finish(positionAt(1));
        expect(await index.position()).toEqual(positionAt(1));
        expect(await index.count('rows')).toBe(0);
        await admin.flushall();
      }
    }
  });

  it('250,000 changes are written in one step, and one more is refused with nothing written', async () => {
    const index = newStore({ commandTimeoutMs: 60_000 }).tenant('north').collection('absence-versions');
    const areas = areasOf('absence-versions');
    const value = randomBytes(23);
    const changes = Array.from({ length: 250_000 }, (_, at) => ({
      area: areas[at % areas.length] ?? 'rows',
      key: `k${at}`,
      value,
    }));
    const tooMany = [...changes, set('one more')];
    await expect(index.apply(null, positionAt(1), tooMany)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await admin.dbsize()).toBe(0);
    await index.apply(null, positionAt(1), changes);
    expect(await index.position()).toEqual(positionAt(1));
    for (const area of areas) expect(await index.count(area)).toBe(changes.length / areas.length);
    await index.apply(
      'tx-1',
      positionAt(2),
      changes.map(({ area, key }) => ({ area, key, value: null })),
    );
    for (const area of areas) expect(await index.count(area)).toBe(0);
  });

  it('a flush between two pages is noticed at the next read and at the next write', async () => {
    const index = newStore().tenant('north').collection('users');
    await index.apply(null, positionAt(1), [set('a')]);
    await admin.flushall();
    await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toMatchObject(diverged);
    await expect(index.apply('tx-1', positionAt(2), [set('b')])).rejects.toMatchObject(diverged);
    expect(await index.position()).toBeNull();
    expect(await admin.dbsize()).toBe(0);
  });

  it('scripts that a restarted Redis has forgotten are sent again', async () => {
    const index = newStore().tenant('north').collection('users');
    await index.apply(null, positionAt(1), [set('a')]);
    await admin.script('FLUSH');
    await index.apply('tx-1', positionAt(2), [set('b')]);
    expect(await index.count('rows')).toBe(2);
  });

  it('a wrong password is reported as refused, not as an outage, and no error shows it', async () => {
    await admin.acl('SETUSER', 'mirror', 'on', '>right-secret', '~*', '&*', '+@all');
    const wrong = await newStore({ username: 'mirror', password: () => 'wrong-secret' })
      .ready()
      .catch((error: unknown) => error);
    expect(wrong).toMatchObject({ ...refused, remedy: expect.stringContaining('redis.url') });
    const inUrl = await storeAt(urlWith('mirror', 'wrong-secret'))
      .ready()
      .catch((error: unknown) => error);
    expect(inUrl).toMatchObject(refused);
    for (const error of [wrong, inUrl]) {
      expect(`${String(error)} ${JSON.stringify(error)} ${String((error as Error).stack)}`).not.toContain(
        'wrong-secret',
      );
      expect((error as Error).cause).toBeUndefined();
    }
    await storeAt(urlWith('mirror', 'right-secret')).ready();
  });

  it('a missing password is reported as refused, not as an outage', async () => {
    await admin.config('SET', 'requirepass', 'secret');
    try {
      await expect(newStore().ready()).rejects.toMatchObject({
        ...refused,
        message: expect.stringContaining('password'),
      });
    } finally {
      await admin.config('SET', 'requirepass', '');
    }
  });

  it('missing rights are found at the start, and the rights named in the remedy are enough', async () => {
    const rights = ['~{rc:*', '~{rc}:probe:*'];
    await admin.acl('SETUSER', 'poor', 'reset', 'on', '>p', ...rights, '+@read', '+ping', '+info');
    await expect(newStore({ username: 'poor', password: () => 'p' }).ready()).rejects.toMatchObject({
      ...refused,
      remedy: expect.stringContaining('+evalsha'),
    });
    const named = [
      '+@read',
      '+@write',
      '+eval',
      '+evalsha',
      '+@transaction',
      '+@connection',
      '-@dangerous',
      '+info',
    ];
    await admin.acl('SETUSER', 'enough', 'reset', 'on', '>p', ...rights, ...named);
    const store = newStore({ username: 'enough', password: () => 'p' });
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

  it('a full Redis refuses a step, and nothing of the step is written', async () => {
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

  /** How an administrator or a fault brings it about, how the message names it, and a word of its remedy. */
  const REFUSALS: Readonly<
    Record<
      string,
      { begin: () => Promise<unknown>; end?: () => Promise<unknown>; says: RegExp; remedy: RegExp }
    >
  > = {
    'has a client too many': {
      begin: () => admin.config('SET', 'maxclients', '1'),
      end: () => admin.config('SET', 'maxclients', '1000'),
      says: /accepts no more clients/,
      remedy: /Raise maxclients/,
    },
    'is a replica': {
      begin: () => admin.replicaof('127.0.0.1', '1'),
      says: /read-only replica/,
      remedy: /set redis.url to the primary/,
    },
    'is full': {
      begin: () => admin.config('SET', 'maxmemory', '1'),
      says: /is full/,
      remedy: /Raise maxmemory/,
    },
    'has lost its replicas': {
      begin: () => admin.config('SET', 'min-replicas-to-write', '1'),
      end: () => admin.config('SET', 'min-replicas-to-write', '0'),
      says: /too few replicas/,
      remedy: /state of Redis/,
    },
    'does not permit what a script does': {
      begin: () => admin.acl('SETUSER', 'default', '-hset'),
      end: () => admin.acl('SETUSER', 'default', '+@all'),
      says: /does not permit/,
      remedy: /\+@write/,
    },
    'cannot save': {
      begin: failToSave,
      end: async () => {
        await admin.config('SET', 'save', '');
        await admin.config('SET', 'dir', tmpdir());
      },
      says: /cannot save/,
      remedy: /disk/,
    },
    'loads its data': { begin: loadSlowly, end: () => loaded, says: /still loading/, remedy: /retries/ },
  };
  let loaded: Promise<unknown> = Promise.resolve();

  async function failToSave(): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'rollcall-no-save-'));
    await admin.config('SET', 'dir', folder);
    await rm(folder, { recursive: true });
    await admin.set('changed', 'since the last save');
    await admin.config('SET', 'save', '3600 1');
    await admin.bgsave();
    await vi.waitUntil(
      async () => /rdb_last_bgsave_status:err/.test(await admin.info('persistence')),
      10_000,
    );
  }

  /** Redis answers others only between some megabytes of its data. */
  async function loadSlowly(): Promise<void> {
    for (let at = 0; at < 30; at += 1) await admin.set(`large-${at}`, randomBytes(1_500_000));
    await admin.config('SET', 'key-load-delay', '400000');
    loaded = admin.debug('RELOAD').then(async () => admin.config('SET', 'key-load-delay', '0'));
    const other = admin.duplicate({ enableReadyCheck: false });
    await vi.waitUntil(async () => /^loading:1/m.test(await other.info('persistence')), 10_000);
    other.disconnect();
  }

  it.each(Object.entries(REFUSALS))(
    'a Redis that %s is named for that at each attempt, with what to do',
    async (_, { begin, end, says, remedy }) => {
      await begin();
      try {
        const store = newStore({ connectTimeoutMs: 3_000 });
        const named = { message: expect.stringMatching(says), remedy: expect.stringMatching(remedy) };
        await expect(store.ready()).rejects.toMatchObject(named);
        const beat = { owner: 'me', ownedSinceMs: 1, info: {} };
        for (let attempt = 0; attempt < 2; attempt += 1)
          await expect(store.coordination.announce('north', beat, 1_000)).rejects.toMatchObject(named);
      } finally {
        await end?.();
      }
    },
  );

  it("another program's data under Rollcall's keys is refused, and the position does not move past it", async () => {
    const index = newStore().tenant('north').collection('users');
    await index.apply(null, positionAt(1), [set('a')]);
    await admin.set('{rc:north:users}:rejects', 'not a hash');
    await expect(index.apply('tx-1', positionAt(2), [set('b')])).rejects.toMatchObject(refused);
    await admin.del('{rc:north:users}:rejects');
    expect(await index.lookup('rows', ['b'], 'tx-1')).toEqual([null]);
  });

  it('a replica during a failover is reported as unreachable, and accepted once it is the primary', async () => {
    const store = newStore();
    await store.ready();
    await admin.replicaof('127.0.0.1', '1');
    await expect(
      store
        .tenant('north')
        .collection('users')
        .apply(null, positionAt(1), [set('a')]),
    ).rejects.toMatchObject(unreachable);
    await admin.replicaof('NO', 'ONE');
    await vi.waitFor(() => store.ready(), 5_000);
  });

  it('an unreachable Redis is reported at once, and used once it can be reached', async () => {
    const proxy = await startFrailProxy(server.url);
    closing.push(() => proxy.close());
    proxy.cut();
    const store = storeAt(proxy.url);
    const startedAtMs = performance.now();
    await expect(store.ready()).rejects.toMatchObject(unreachable);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
    proxy.mend();
    await vi.waitFor(() => store.ready(), 10_000);
    await expect(storeAt('redis://127.0.0.1:1').ready()).rejects.toMatchObject({
      ...unreachable,
      message: expect.stringContaining('127.0.0.1:1 '),
    });
  });

  it('commands succeed again after a connection was cut', async () => {
    const proxy = await startFrailProxy(server.url);
    closing.push(() => proxy.close());
    const index = storeAt(proxy.url).tenant('north').collection('users');
    await index.apply(null, positionAt(1), [set('a')]);
    proxy.cut();
    await expect(index.lookup('rows', ['a'], 'tx-1')).rejects.toMatchObject(unreachable);
    proxy.mend();
    const found = await vi.waitFor(() => index.lookup('rows', ['a'], 'tx-1'), 10_000);
    expect(found).toHaveLength(1);
  });

  it('a write that arrives after it was given up changes nothing', async () => {
    const proxy = await startFrailProxy(server.url);
    closing.push(() => proxy.close());
    const slow = storeAt(proxy.url, { commandTimeoutMs: 1_000 }).tenant('north').collection('users');
    const other = newStore().tenant('north').collection('users');
    await slow.apply(null, positionAt(1), [set('a')]);
    proxy.hold();
    await expect(slow.apply('tx-1', positionAt(2), [set('late')])).rejects.toMatchObject(unreachable);
    const replay = await other.resume(positionAt(1));
    const change = set('b');
    await replay.write([change]);
    await replay.finish(positionAt(2, 'tx-2'));
    await other.apply('tx-2', positionAt(3), [set('c')]);
    proxy.release();
    // This uses the same connection, so its answer comes after the late write was handled.
    expect(await slow.lookup('rows', ['late', 'b'], 'tx-3')).toEqual([null, change.value]);
    expect(await allKeys(other)).toEqual(new Set(['a', 'b', 'c']));
  });

  it('a connection that a firewall dropped silently is given up and replaced', async () => {
    const proxy = await startFrailProxy(server.url);
    closing.push(() => proxy.close());
    const store = storeAt(proxy.url, { commandTimeoutMs: 1_000 });
    await store.ready();
    proxy.freeze();
    await expect(store.ready()).rejects.toMatchObject(unreachable);
    await vi.waitFor(() => store.ready(), 10_000);
  });

  it('a closed store does not connect again', async () => {
    const store = createRedisStore({ url: server.url, keyPrefix: `closed-${randomUUID()}` });
    await store.ready();
    await store.close();
    await expect(store.ready()).rejects.toMatchObject(unreachable);
  });
});
