import { Redis } from 'ioredis';
import { describe, expect, inject, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { configFile } from './support/config-file.ts';
import { rollcall, startRollcall } from './support/rollcall.ts';
import { reportedDifferences } from './support/reported-differences.ts';

const COLLECTIONS = ['users', 'classes', 'absence-versions', 'absences', 'absence-changes'];

/** Overwrites entries of the index of users and of chains; it keeps as many keys as before. */
async function spoilIndex({ topicPrefix }: Mirror): Promise<string[]> {
  const client = new Redis(inject('stack').redisUrl);
  try {
    const corrupt: string[] = [];
    for (const [collection, area] of [
      ['users', 'rows'],
      ['absence-versions', 'rows'],
      ['absence-versions', 'absences'],
    ]) {
      const [name = ''] = await client.keys(`{${topicPrefix}:*:north:${collection}}:${area}`);
      const keys = (await client.hkeys(name)).slice(0, 5);
      for (const key of keys) await client.hset(name, key, Buffer.alloc(17, 1));
      corrupt.push(...keys);
    }
    return corrupt;
  } finally {
    await client.quit();
  }
}

function mirrored(): Promise<Mirror> {
  return openMirror({
    collections: COLLECTIONS,
    hubOptions: { students: 30, startMs: Date.now(), size: { absencesPerStudentYear: 6 } },
    tenant: { deltaEvery: '1h' },
    settings: { http: { port: 0 } },
  });
}

describe('state rebuild', () => {
  it('makes a corrupt index equal to the topics again, and publishes nothing', async () => {
    await using mirror = await mirrored();
    await mirror.full();
    using config = configFile(mirror.configText);
    const ends = await mirror.ends();
    const corrupt = await spoilIndex(mirror);
    const found = reportedDifferences(await rollcall(config.path, 'verify', '--json'));
    expect(found.filter(({ state }) => state === 'wrong').length).toBeGreaterThanOrEqual(10);
    expect(corrupt).toEqual(expect.arrayContaining(found.map(({ key }) => key)));
    const rebuilt = await rollcall(config.path, 'state', 'rebuild', '--json');
    expect(rebuilt.code).toBe(0);
    const users = (await mirror.view('users')).size;
    expect(JSON.parse(rebuilt.stdout)).toMatchObject({
      collections: expect.arrayContaining([
        { tenant: 'north', collection: 'users', rows: users, rejects: 0 },
      ]) as unknown,
    });
    const ended = await rollcall(config.path, 'verify', '--json');
    expect([reportedDifferences(ended), ended.code]).toEqual([[], 0]);
    await mirror.restart();
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
  });

  it('is done by the running process, which continues from the new index', async () => {
    await using mirror = await mirrored();
    await mirror.full();
    using config = configFile(mirror.configText);
    const owner = startRollcall(config.path, ['run'], { longestMs: 180_000 });
    await owner.says('mirroring');
    await spoilIndex(mirror);
    const rebuilt = await rollcall(config.path, 'state', 'rebuild');
    expect(rebuilt.stderr).toContain('asking the process that runs');
    expect(rebuilt.code).toBe(0);
    const ended = await rollcall(config.path, 'verify', '--json');
    expect([reportedDifferences(ended), ended.code]).toEqual([[], 0]);
    const [user = ''] = mirror.hub.district.ids('users').map(String);
    mirror.hub.district.patch('users', user, { givenName: 'Another' });
    const before = await mirror.ends();
    const pulled = await rollcall(config.path, 'pull', '--json');
    expect(pulled.stderr).toContain('asking the process that runs');
    expect((await mirror.since(before)).map(({ key }) => key)).toEqual([user]);
    owner.kill('SIGTERM');
    expect((await owner.ended).code).toBe(0);
  });

  it('loses no change and publishes none twice while the hub changes', async () => {
    await using mirror = await openMirror({
      collections: only({
        users: {},
        students: {},
        classes: {},
        'class-students': {},
        results: {},
        'absence-versions': {},
        absences: {},
        'absence-changes': {},
      }),
      hubOptions: { students: 40, startMs: Date.now() },
      tenant: { deltaEvery: '1s' },
      settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } }, http: { port: 0 } },
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const owner = startRollcall(config.path, ['run'], { longestMs: 180_000 });
    await owner.says('mirroring');
    const stop = new AbortController();
    const changing = (async () => {
      while (!stop.signal.aborted) {
        mirror.hub.living.step(1);
        await new Promise((resolve) => {
          setTimeout(resolve, 20);
        });
      }
    })();
    for (let round = 1; round <= 2; round += 1) {
      const pulled = rollcall(config.path, 'pull', '--full');
      const rebuilt = await rollcall(config.path, 'state', 'rebuild');
      expect([rebuilt.code, rebuilt.stderr]).toEqual([0, expect.stringContaining('asking the process')]);
      expect((await pulled).code).toBe(0);
    }
    stop.abort();
    await changing;
    expect((await rollcall(config.path, 'pull', '--full')).code).toBe(0);
    const ended = await rollcall(config.path, 'verify', '--json');
    expect([reportedDifferences(ended), ended.code]).toEqual([[], 0]);
    owner.kill('SIGTERM');
    const { stdout, code } = await owner.ended;
    expect(code).toBe(0);
    expect(stdout).not.toContain('"level":50');
    for (const name of ['users', 'class-students', 'results', 'absence-versions', 'absences']) {
      const last = new Map<string, string | undefined>();
      for (const { key, headers, value } of await mirror.records(name)) {
        const hash = value === null ? 'gone' : headers['content-hash'];
        expect([name, key, hash]).not.toEqual([name, key, last.get(key) ?? 'gone']);
        last.set(key, hash);
      }
    }
    const happened = Object.values(mirror.hub.living.happened()).reduce((sum, count) => sum + count, 0);
    expect(happened).toBeGreaterThan(50);
  });
});
