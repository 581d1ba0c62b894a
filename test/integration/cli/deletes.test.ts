import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rollcall, startOwner } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/test-tenant.ts';

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  const { district } = tenant.hub;
  const [school = ''] = district.ids('orgs');
  district.patch('orgs', school, { name: 'Oppdiktet skole' });
  for (let at = 10; at < 70; at += 1)
    district.put('courses', {
      sourcedId: `course-${at}`,
      title: `Course ${at}`,
      org: { href: '', sourcedId: school, type: 'org' },
    });
  await tenant.full(...COLLECTIONS);
});
afterAll(() => tenant[Symbol.asyncDispose]());

/** Removes some of the courses that are left, and syncs. */
async function loseCourses(from: number, to: number): Promise<string[]> {
  const gone = [...tenant.hub.district.ids('courses')].sort().slice(from, to);
  for (const id of gone) tenant.hub.district.remove('courses', id);
  await tenant.full('courses');
  return gone;
}

const deletes = (...args: string[]) => rollcall(tenant.config, 'deletes', ...args);
const listed = async () =>
  (await deletes('list', '--json')).json<{ tenants: [{ digest: string; rows: number }] }>().tenants[0];

describe('rollcall deletes', () => {
  it('list shows that no deletion is withheld, or which ones are', async () => {
    expect(await deletes('list')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no deletion is withheld'),
    });
    const gone = await loseCourses(0, -20);
    const count = gone.length;
    const ended = await deletes('list', '--json');
    expect([ended.code, ended.stderr]).toEqual([3, '']);
    const collections = [{ collection: 'courses', count, keys: gone, isHeld: true }];
    expect(ended.json()).toMatchObject({
      waits: true,
      tenants: [{ tenant: 'north', rows: count, collections }],
    });
    const { stdout } = await deletes('list', '--collection', 'courses');
    expect(stdout).toContain('half or more is missing');
    expect(stdout).toContain(gone[9]);
    expect(stdout).not.toContain(gone[10]);
    // What a person can judge: how many of which school, by its name.
    const ofSchool = gone.filter((id) => id.startsWith('course-')).length;
    expect(stdout).toMatch(new RegExp(`by school: .*Oppdiktet skole ${ofSchool}`));
    const status = await rollcall(tenant.config, 'status');
    expect([status.code, status.stdout]).toEqual([3, expect.stringContaining('rollcall deletes list')]);
  });

  it('approve removes nothing without a digest, for another one, and everything for that of this list', async () => {
    const other = await deletes('approve', '0123456789ab');
    expect(other.code).toBe(3);
    expect(other.stderr).toContain('0123456789ab is not the list any more');
    // Without a digest nobody can have looked at the list.
    expect((await deletes('approve')).code).toBe(2);
    const { digest, rows } = await listed();
    const reason = 'the school has closed';
    const approved = await deletes('approve', digest, '--json', '--reason', reason);
    expect(approved.code).toBe(0);
    expect(approved.json()).toMatchObject({
      digest,
      isSame: true,
      waiting: 0,
      collections: [{ collection: 'courses', outcome: 'done', removed: rows, back: 0 }],
    });
    expect((await deletes('list')).code).toBe(0);
    expect((await deletes('history', '--json')).json()).toMatchObject({
      approvals: [{ collection: 'courses', digest, reason, removed: rows }],
    });
    expect((await deletes('history')).stdout).toContain(reason);
  });

  it('approve is handled by the running process, which continues', async () => {
    await loseCourses(0, 12);
    await using owner = await startOwner(tenant.config);
    const approved = await deletes('approve', (await listed()).digest);
    expect([approved.code, approved.stderr]).toEqual([
      0,
      expect.stringContaining('asking the process that runs'),
    ]);
    expect(approved.stdout).toMatch(/courses\s+removed\s+12\s+12\s+0/);
    expect((await owner.stop()).code).toBe(0);
  });

  it.each(['list', 'approve 0123456789ab'])(
    'refuses %s without Redis, and says what to do',
    async (words) => {
      const refused = await rollcall(tenant.configWith({ inMemory: true }), 'deletes', ...words.split(' '));
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Add redis.url')]);
    },
  );
});
