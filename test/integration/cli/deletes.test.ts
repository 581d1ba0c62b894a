import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
          rows: gone.length,
          collections: [{ collection: 'courses', count: gone.length, keys: gone, isHeld: true }],
        },
      ],
    });
    const people = await deletes('list', '--collection', 'courses');
    expect(people.stdout).toContain('half or more is missing');
    expect(people.stdout).toContain(gone[9]);
    expect(people.stdout).not.toContain(gone[10]);
    // What a person can judge: how many of which school, by its name.
    const ofSchool = gone.filter((id) => id.startsWith('course-')).length;
    expect(people.stdout).toMatch(new RegExp(`by school: .*Oppdiktet skole ${ofSchool}`));
    const status = await rollcall(tenant.configPath, 'status');
    expect([status.code, status.stdout]).toEqual([3, expect.stringContaining('rollcall deletes list')]);
  });

  it('approve removes nothing without a digest, for another one, and everything for that of this list', async () => {
    const other = await deletes('approve', '0123456789ab');
    expect([other.code, other.stderr]).toEqual([
      3,
      expect.stringContaining('0123456789ab is not the list any more'),
    ]);
    // Without a digest nobody can have looked at the list.
    expect((await deletes('approve')).code).toBe(2);
    const listed = JSON.parse((await deletes('list', '--json')).stdout) as {
      tenants: [{ digest: string; rows: number }];
    };
    const [{ digest, rows }] = listed.tenants;
    const approved = await deletes('approve', digest, '--json', '--reason', 'the school has closed');
    expect(approved.code).toBe(0);
    expect(JSON.parse(approved.stdout)).toMatchObject({
      digest,
      isSame: true,
      waiting: 0,
      collections: [{ collection: 'courses', outcome: 'done', removed: rows, back: 0 }],
    });
    expect((await deletes('list')).code).toBe(0);
    const history = JSON.parse((await deletes('history', '--json')).stdout) as { approvals: unknown[] };
    expect(history.approvals).toMatchObject([
      { collection: 'courses', digest, reason: 'the school has closed', removed: rows },
    ]);
    expect((await deletes('history')).stdout).toContain('the school has closed');
  });

  it('approve is handled by the running process, which continues', async () => {
    const gone = courses.slice(0, 12);
    takeAway(gone);
    await tenant.sync('FULL', ['courses']);
    const running = startRollcall(tenant.configPath, ['run']);
    await running.says('mirroring');
    const listed = JSON.parse((await deletes('list', '--json')).stdout) as { tenants: [{ digest: string }] };
    const approved = await deletes('approve', listed.tenants[0].digest);
    expect([approved.code, approved.stderr]).toEqual([
      0,
      expect.stringContaining('asking the process that runs'),
    ]);
    expect(approved.stdout).toMatch(/courses\s+removed\s+12\s+12\s+0/);
    running.kill('SIGTERM');
    expect((await running.ended).code).toBe(0);
  });

  it.each(['list', 'approve 0123456789ab'])(
    'refuses %s without Redis, and says what to do',
    async (words) => {
      const { code, stderr } = await rollcall(
        tenant.configWith({ redisUrl: null }),
        'deletes',
        ...words.split(' '),
      );
      expect([code, stderr]).toEqual([2, expect.stringContaining('Add redis.url')]);
    },
  );

  it('refuses a collection that is not mirrored', async () => {
    const { code, stderr } = await deletes('list', '--collection', 'results');
    expect([code, stderr]).toEqual([2, expect.stringContaining('results is not mirrored')]);
  });
});
