import { hostname, userInfo } from 'node:os';
import { afterAll, expect, it, vi } from 'vitest';
import { idOf } from '../support/rows.ts';
import { startProcess } from '../support/running.ts';
import { rollcall, startOwner, startRollcall } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';

const WITHIN = { timeout: 120_000, interval: 200 } as const;

/* One tenant for all: not mirrored yet, then filled, then with deletions that need a decision. */
const tenant = await startTestTenant();
afterAll(() => tenant[Symbol.asyncDispose]());
const [school = ''] = tenant.hub.district.ids('orgs');
tenant.hub.district.patch('orgs', school, { name: 'Oppdiktet skole' });
const org = { href: '', sourcedId: school, type: 'org' };
for (let at = 10; at < 70; at += 1)
  tenant.hub.district.put('courses', { sourcedId: `course-${at}`, title: `Course ${at}`, org });

const say = (words: string, config = tenant.config) => rollcall(config, ...words.split(' '));
/** Waits until status exits like this and says so. */
const shows = (code: number, text: string, config = tenant.config) =>
  vi.waitFor(async () => {
    const ended = await say('status', config);
    expect([ended.code, ended.stdout]).toEqual([code, expect.stringContaining(text)]);
    return ended;
  }, WITHIN);

interface Listed {
  readonly digest: string;
  readonly rows: number;
  readonly collections: readonly { readonly keys: readonly string[]; readonly schools: readonly object[] }[];
}
/** What `deletes history` keeps. */
const decided = async () =>
  (await say('deletes history --json')).json<{ decisions: { kind: string; collection: string }[] }>()
    .decisions;
const listed = async () => (await say('deletes list --json')).json<{ tenants: [Listed] }>().tenants[0];

it('status says that no process mirrors the tenant before the first run, and within a minute of a kill', async () => {
  const config = tenant.configWith({ settings: { kafka: { session: '6s' } } });
  await shows(1, 'no process mirrors the tenant', config);
  await using run = startProcess(config, 'run');
  await shows(0, 'all well', config);
  run.kill('SIGKILL');
  await run.ended;
  await shows(1, ': owner: no process mirrors the tenant', config);
});

it('after a full sync of empty lists, pull, status and /status.json say that a person must decide', async () => {
  await tenant.full(...COLLECTIONS);
  tenant.hub.faults.set('empty-list');
  const pull = await say('pull --full');
  expect([pull.code, pull.stderr]).toEqual([3, expect.stringContaining('deletes list')]);
  // No process mirrors the tenant, which without Redis is not known.
  await shows(1, 'needs a decision: ', tenant.config);
  await shows(3, 'needs a decision: ', tenant.configWith({ inMemory: true }));
  const { stdout } = await say('status');
  expect(stdout).toMatch(/: \d+ rows are on hold in .*courses/);
  // A line alone can be copied.
  for (const words of ['list', 'approve <digest>'])
    expect(stdout).toMatch(new RegExp(`^ +\\S*rollcall deletes ${words} --tenant north$`, 'm'));
  const { collections } = await listed();
  expect(collections.flatMap(({ schools }) => schools).length).toBeGreaterThan(0);
  const keys = collections.flatMap((each) => each.keys);
  expect(keys).toHaveLength(COLLECTIONS.flatMap((name) => tenant.hub.district.ids(name)).length);
  await using run = await startOwner(tenant.config);
  await vi.waitFor(async () => {
    const text = await (await run.get('/status.json')).text();
    expect(text).toContain('rollcall deletes approve <digest>');
    expect(keys.filter((key) => text.includes(`"${key}"`))).toEqual([]);
  }, WITHIN);
  await run.stop();
  tenant.hub.faults.clear();
  expect((await say('pull --full')).code).toBe(0);
  expect((await say('deletes list')).code).toBe(0);
  const kinds = Map.groupBy(await decided(), ({ collection }) => collection);
  for (const name of COLLECTIONS)
    expect([name, kinds.get(name)?.map(({ kind }) => kind)]).toEqual([name, ['hold', 'healed']]);
});

it('deletes approve needs the digest of the current list, and removes only what the hub still lacks', async () => {
  const { district, faults } = tenant.hub;
  const gone = [...district.ids('courses')].sort().slice(0, -20);
  const [first = ''] = gone;
  const row = district.get('courses', first) ?? {};
  for (const id of gone) district.remove('courses', id);
  await tenant.full('courses');
  const ended = await say('deletes list --json');
  expect([ended.code, ended.stderr]).toEqual([3, '']);
  const onHold = [{ collection: 'courses', count: gone.length, keys: gone, isOnHold: true }];
  const ofTenant = { tenant: 'north', rows: gone.length, collections: onHold };
  expect(ended.json()).toMatchObject({ waits: true, tenants: [ofTenant] });
  const { stdout } = await say('deletes list --collection courses');
  expect(stdout).toContain('half or more is missing');
  expect([stdout.includes(gone[9] ?? ''), stdout.includes(gone[10] ?? '')]).toEqual([true, false]);
  // What a person can judge: how many of which school, by its name.
  const ofSchool = gone.filter((id) => id.startsWith('course-')).length;
  expect(stdout).toMatch(new RegExp(`by school: .*Oppdiktet skole ${ofSchool}`));

  const other = await say('deletes approve 0123456789ab');
  expect([other.code, other.stderr]).toEqual([
    3,
    expect.stringContaining('0123456789ab is not the list any more'),
  ]);
  // Without a digest nobody can have looked at the list.
  expect((await say('deletes approve')).code).toBe(2);
  const { digest, rows } = await listed();
  for (const [fault, outcome] of [
    ['missing-list', 'inconclusive'],
    ['not-offered', 'failed'],
  ] as const) {
    faults.set(fault);
    const tried = await say(`deletes approve ${digest} --json`);
    expect([tried.code, tried.json()]).toMatchObject([1, { collections: [{ outcome, removed: 0 }] }]);
    faults.clear();
  }
  district.put('courses', row);
  const reason = 'the school has closed';
  const approved = await rollcall(tenant.config, 'deletes', 'approve', digest, '--json', '--reason', reason);
  const done = { digest, isSame: true, waiting: 0 };
  const collections = [{ collection: 'courses', outcome: 'done', removed: rows - 1, back: 1 }];
  expect([approved.code, approved.json()]).toMatchObject([0, { ...done, collections }]);
  expect((await say('deletes list')).code).toBe(0);
  const given = {
    tenant: 'north',
    kind: 'approved',
    collection: 'courses',
    digest,
    reason,
    rows,
    removed: rows - 1,
  };
  expect((await decided()).at(-1)).toMatchObject({ ...given, by: userInfo().username, from: hostname() });
  expect((await say('deletes history')).stdout).toContain(reason);
  for (const id of [...district.ids('courses')].slice(0, 5)) district.remove('courses', id);
  await tenant.full('courses');
  expect((await say('deletes list')).code).toBe(0);
});

it('deletes approve is handled by the running process, which continues', async () => {
  for (const id of [...tenant.hub.district.ids('courses')].slice(0, 12))
    tenant.hub.district.remove('courses', id);
  await tenant.full('courses');
  await using owner = await startOwner(tenant.config);
  const approved = await say(`deletes approve ${(await listed()).digest}`);
  expect([approved.code, approved.stderr]).toEqual([
    0,
    expect.stringContaining('asking the process that runs'),
  ]);
  expect(approved.stdout).toMatch(/courses\s+removed\s+12\s+12\s+0/);
  const ofCourses = (await decided()).filter(({ collection }) => collection === 'courses');
  expect(ofCourses.slice(2).map(({ kind }) => kind)).toEqual(['hold', 'approved', 'hold', 'approved']);
  expect(JSON.stringify(ofCourses)).not.toContain('course-');
  expect((await owner.stop()).code).toBe(0);
});

it('where a hub offers no absences, pull exits with 0, and pull and status say what is not offered', async () => {
  await using other = await startTestTenant();
  other.hub.faults.set('not-offered@absence-versions');
  const collections = ['orgs', 'students', 'absence-versions', 'absences', 'absence-changes', 'schedules'];
  const config = other.configWith({ collections });
  for (let times = 0; times < 2; times += 1) {
    const pull = await say('pull --full', config);
    expect([pull.code, pull.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
    expect(pull.stdout).toMatch(/schedules +not-offered/);
  }
  await using _ = startRollcall(config, 'run');
  const says = 'all well; the hub does not offer absence-versions, schedules';
  expect((await shows(0, says, config)).stdout).toMatch(/absence-changes .* not offered/);
});

it('deletes approve removes nothing while the rows of a collection may be another tenant’s', async () => {
  await using other = await startTestTenant();
  const { district } = other.hub;
  await other.full(...COLLECTIONS);
  for (const id of [...district.ids('courses')].slice(1)) district.remove('courses', id);
  await other.full('courses');
  const users = district.snapshot('users');
  for (const row of users) {
    district.remove('users', idOf(row));
    district.put('users', Object.assign({}, row, { sourcedId: `other-${idOf(row)}` }));
  }
  const inOther = (words: string) => say(words, other.config);
  expect((await inOther('pull --full --collection users')).code).toBe(3);
  const list = (await inOther('deletes list --json')).json<{ tenants: [Listed] }>().tenants[0];
  const offersNoApproval = async (): Promise<void> => {
    const said = `${(await inOther('deletes list')).stdout}${(await inOther('status')).stdout}`;
    expect(said).toMatch(/HUB_FOREIGN_DATA[^]*--accept-new[^]*HUB_FOREIGN_DATA[^]*--accept-new/);
    expect(said).not.toContain('deletes approve');
    const approval = await inOther(`deletes approve ${list.digest}`);
    expect([approval.code, approval.stderr]).toEqual([1, expect.stringContaining('help HUB_FOREIGN_DATA')]);
  };
  await offersNoApproval();
  await using owner = await startOwner(other.config);
  // While it starts, the process has not read yet which decisions wait.
  await vi.waitFor(async () => expect((await inOther('status')).stdout).not.toMatch(/^. north .*: start:/m), {
    timeout: 60_000,
    interval: 200,
  });
  await offersNoApproval();
  await owner.stop();
  for (const row of users) {
    district.remove('users', `other-${idOf(row)}`);
    district.put('users', row);
  }
  expect((await inOther('pull --full --collection users')).code).toBe(0);
  expect((await inOther(`deletes approve ${list.digest}`)).code).toBe(0);
});
