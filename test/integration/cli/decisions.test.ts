import { hostname, userInfo } from 'node:os';
import { afterAll, expect, it, vi } from 'vitest';
import { idOf } from '../support/rows.ts';
import { startProcess } from '../support/running.ts';
import { compactedView, readTopics } from '../support/stack-kafka.ts';
import { ending, rollcall, startOwner, startRollcall } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant } from './support/test-tenant.ts';

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
  });

interface Part {
  readonly digest: string;
  readonly school: { readonly name: string } | null;
  readonly collections: readonly {
    readonly collection: string;
    readonly rows: number;
    readonly known: number;
    readonly keys: readonly string[];
  }[];
}
interface Listed {
  readonly rows: number;
  readonly parts: readonly Part[];
}
const keysOf = (parts: readonly Part[]) =>
  parts.flatMap(({ collections }) => collections.flatMap(({ keys }) => keys));
const digestsOf = (parts: readonly Part[]) => parts.map(({ digest }) => digest).join(' ');
type Decided = Readonly<Record<'kind' | 'collection', string>>;
/** What `deletes history` keeps. */
const decided = async () => (await say('deletes history --json')).json<{ decisions: Decided[] }>().decisions;
const listed = async (config = tenant.config) =>
  (await say('deletes list --json', config)).json<{ tenants: [Listed] }>().tenants[0];

it('status says that no process mirrors a tenant, before the first run and soon after a kill', async () => {
  const config = tenant.configWith({ settings: { kafka: { session: '6s' } } });
  await shows(1, 'no process mirrors the tenant', config);
  await using run = startProcess(config, 'run');
  await shows(0, 'all well', config);
  run.kill('SIGKILL');
  await run.ended;
  await shows(1, ': owner: no process mirrors the tenant', config);
});

it('when all lists of the hub are empty, pull, status and /status.json ask a person for a decision', async () => {
  await tenant.full(...COLLECTIONS);
  tenant.hub.faults.set('empty-list');
  const pull = await say('pull --full');
  expect(pull).toMatchObject(ending(3, 'stderr', 'deletes list'));
  // No process mirrors the tenant, which without Redis is not known.
  await shows(1, 'needs a decision: ', tenant.config);
  await shows(3, 'needs a decision: ', tenant.configWith({ inMemory: true }));
  const { stdout } = await say('status');
  expect(stdout).toMatch(/: \d+ rows are on hold in .*courses/);
  // A line alone can be copied.
  expect(stdout).toMatch(/^ +\S*rollcall deletes list --tenant north$/m);
  const { parts } = await listed();
  const keys = keysOf(parts);
  expect(keys).toHaveLength(COLLECTIONS.flatMap((name) => tenant.hub.district.ids(name)).length);
  await using run = await startOwner(tenant.config);
  await vi.waitFor(async () => {
    const shown = await (await run.get('/status.json')).text();
    expect(shown).toContain('rollcall deletes list --tenant north');
    expect(keys.filter((key) => shown.includes(`"${key}"`))).toEqual([]);
  });
  await run.stop();
  tenant.hub.faults.clear();
  expect((await say('pull --full')).code).toBe(0);
  expect((await say('deletes list')).code).toBe(0);
  const kinds = Map.groupBy(await decided(), ({ collection }) => collection);
  for (const name of COLLECTIONS)
    expect([name, kinds.get(name)?.map(({ kind }) => kind)]).toEqual([name, ['hold', 'healed']]);
  expect((await say('deletes history')).stdout).toMatch(
    /courses +healed +the rows that were still missing came back +Rollcall/,
  );
});

it('"deletes approve" needs the digests of the current list, and removes only rows still missing', async () => {
  const { district, faults } = tenant.hub;
  const gone = [...district.ids('courses')].sort().slice(0, -30);
  const [first = ''] = gone;
  const row = district.get('courses', first) ?? {};
  for (const id of gone) district.remove('courses', id);
  await tenant.full('courses');
  const ended = await say('deletes list --json');
  expect([ended.code, ended.stderr]).toEqual([3, '']);
  expect(ended.json()).toMatchObject({ waits: true, tenants: [{ tenant: 'north', rows: gone.length }] });
  const { parts } = await listed();
  expect(keysOf(parts).toSorted()).toEqual(gone);
  const { stdout } = await say('deletes list');
  expect(stdout).toContain('half or more are missing');
  const [named, unnamed] = [
    parts[0]?.collections[0]?.keys[9] ?? '',
    parts[0]?.collections[0]?.keys[10] ?? '',
  ];
  expect([stdout.includes(named), stdout.includes(unnamed)]).toEqual([true, false]);
  // What a person can judge: how many of which school, by its name, and of how many.
  const ofSchool = gone.filter((id) => id.startsWith('course-')).length;
  expect(stdout).toMatch(new RegExp(`Oppdiktet skole +courses +${ofSchool} of \\d+`));

  const other = await say('deletes approve 0123456789ab');
  expect(other).toMatchObject(
    ending(3, 'stderr', 'nothing was removed: this part is not on the list: 0123456789ab'),
  );
  // Without a digest nobody can have looked at the list.
  expect((await say('deletes approve')).code).toBe(2);
  const { rows } = await listed();
  const digests = digestsOf(parts);
  for (const [fault, outcome] of [
    ['missing-list', 'inconclusive'],
    ['not-offered', 'failed'],
  ] as const) {
    faults.set(fault);
    const tried = await say(`deletes approve ${digests} --json`);
    expect([tried.code, tried.json()]).toMatchObject([1, { collections: [{ outcome, removed: 0 }] }]);
    faults.clear();
  }
  district.put('courses', row);
  const reason = 'the school has closed';
  const approve = ['deletes', 'approve', ...digests.split(' '), '--json', '--reason'];
  const tooLong = await rollcall(tenant.config, ...approve, 'a'.repeat(501));
  expect(tooLong).toMatchObject(ending(2, 'stderr', 'Shorten it'));
  const approved = await rollcall(tenant.config, ...approve, reason);
  const done = { digests: digests.split(' '), isSame: true, waiting: 0 };
  const collections = [{ collection: 'courses', outcome: 'done', removed: rows - 1, back: 1 }];
  expect([approved.code, approved.json()]).toMatchObject([0, { ...done, collections }]);
  expect((await say('deletes list')).code).toBe(0);
  const again = await say(`deletes approve ${digests}`);
  expect(again).toMatchObject(ending(3, 'stderr', 'rollcall deletes history'));
  const about = await rollcall(tenant.config, 'tail', '--about', 'closed');
  expect(about.stderr).toMatch(/^not complete: the id is in \S+\.progress, in 1 record of a decision, /m);
  const given = {
    tenant: 'north',
    kind: 'approved',
    collection: 'courses',
    digest: digests,
    reason,
    rows,
    removed: rows - 1,
  };
  expect((await decided()).at(-1)).toMatchObject({ ...given, by: userInfo().username, from: hostname() });
  expect((await say('deletes history')).stdout).toMatch(
    new RegExp(`approved +${rows - 1} of ${rows} approved rows were removed .*${reason}`),
  );
  for (const id of [...district.ids('courses')].slice(0, 5)) district.remove('courses', id);
  await tenant.full('courses');
  expect((await say('deletes list')).code).toBe(0);
});

it('the running process carries out "deletes approve", and goes on mirroring', async () => {
  for (const id of [...tenant.hub.district.ids('courses')].slice(0, 14))
    tenant.hub.district.remove('courses', id);
  await tenant.full('courses');
  await using owner = await startOwner(tenant.config);
  const approved = await say(`deletes approve ${digestsOf((await listed()).parts)}`);
  expect(approved).toMatchObject(ending(0, 'stderr', 'asking the process that mirrors'));
  expect(approved.stdout).toMatch(/courses\s+removed\s+14\s+14\s+0/);
  // Without waiting: the process announces what it has done before the command ends.
  expect((await say('status')).stdout).not.toContain('on hold in');
  const ofCourses = (await decided()).filter(({ collection }) => collection === 'courses');
  expect(ofCourses.slice(2).map(({ kind }) => kind)).toEqual(['hold', 'approved', 'hold', 'approved']);
  expect(JSON.stringify(ofCourses)).not.toContain('course-');
  expect((await owner.stop()).code).toBe(0);
});

it('if a hub offers no absences, pull exits with 0, and pull and status name what is not offered', async () => {
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

it('"deletes approve" removes nothing while the hub may show another tenant’s data', async () => {
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
  const digests = digestsOf((await listed(other.config)).parts);
  const offersNoApproval = async (): Promise<void> => {
    const said = `${(await inOther('deletes list')).stdout}${(await inOther('status')).stdout}`;
    expect(said).toMatch(/HUB_FOREIGN_DATA[^]*--accept-new[^]*HUB_FOREIGN_DATA[^]*--accept-new/);
    expect(said).not.toContain('deletes approve');
    const approval = await inOther(`deletes approve ${digests}`);
    expect(approval).toMatchObject(ending(1, 'stderr', 'help HUB_FOREIGN_DATA'));
  };
  await offersNoApproval();
  await using owner = await startOwner(other.config);
  // While it starts, the process has not read yet which decisions wait.
  await vi.waitFor(async () => expect((await inOther('status')).stdout).not.toMatch(/^. north .*: start:/m));
  await offersNoApproval();
  await owner.stop();
  for (const row of users) {
    district.remove('users', `other-${idOf(row)}`);
    district.put('users', row);
  }
  expect((await inOther('pull --full --collection users')).code).toBe(0);
  // Hardly any course is left.
  const unexplained = await inOther(`deletes approve ${digests}`);
  expect(unexplained).toMatchObject(ending(2, 'stderr', '--reason "<text>"'));
  expect((await inOther(`deletes approve ${digests} --reason closed`)).code).toBe(0);
});

/* Two events at once: a school is lost, and pupils of two others have left. */
const two = await startTestTenant();
afterAll(() => two[Symbol.asyncDispose]());
const inTwo = (words: string) => say(words, two.config);
const coursesOf = (at: string): string[] => Array.from({ length: 60 }, (_, n) => `${at}-course-${n + 10}`);
const lost = coursesOf('lost');
const leavers = ['one', 'two'].flatMap((at) => coursesOf(at).slice(0, 10));

function putCourses(courses: readonly string[]): void {
  for (const id of courses) {
    const school = { href: '', sourcedId: id.split('-')[0] ?? '', type: 'org' };
    two.hub.district.put('courses', { sourcedId: id, title: id, org: school });
  }
}

function putSchool(at: string): void {
  const { district } = two.hub;
  const [known = ''] = district.ids('orgs');
  district.put('orgs', { ...district.get('orgs', known), sourcedId: at, name: `Skole ${at}` });
  putCourses(coursesOf(at));
}

/** Of the records of each course, whether it has a value. */
async function recordsOf(courses: readonly string[]): Promise<boolean[][]> {
  const records = await readTopics([two.topic('courses')]);
  return courses.map((id) => records.filter(({ key }) => key === id).map(({ value }) => value !== null));
}

it('"deletes list" shows the rows of a lost school and other missing rows as two parts', async () => {
  const { district } = two.hub;
  for (const at of ['lost', 'one', 'two']) putSchool(at);
  await two.full(...COLLECTIONS);
  for (const id of [...lost, ...leavers]) district.remove('courses', id);
  district.remove('orgs', 'lost');
  await two.full('courses');
  for (let times = 0; times < 2; times += 1) await two.full('orgs');

  const { parts } = await listed(two.config);
  const told = parts.map(({ school, collections }) => [
    school?.name,
    ...collections.map(({ collection, rows, known }) => `${collection} ${rows} of ${known}`),
  ]);
  expect(told).toEqual([
    ['Skole lost', 'orgs 1 of 1', 'courses 60 of 60'],
    [undefined, expect.stringMatching(/^courses 20 of \d+$/)],
  ]);
  const { stdout } = await inTwo('deletes list');
  const commands = parts.map(({ digest }) =>
    stdout.indexOf(`rollcall deletes approve ${digest} --tenant north`),
  );
  expect(Math.min(...commands)).toBeGreaterThan(0);
  // What is to be done comes before long lists.
  expect(stdout.indexOf(`    courses: ${leavers[0]}\n`)).toBeGreaterThan(Math.max(...commands));
  expect(stdout).toMatch(/several or none +courses +20 of/);
  expect(stdout).toContain('ends the hold by itself');
  expect(stdout).toMatch(/approve <digest> <digest> … --tenant north --reason "<text>"$/m);
  const receiptOf = async (id: string) => (await inTwo(`tail --about ${id}`)).stderr;
  expect(await receiptOf(leavers[0] ?? '')).toMatch(/^on hold in north: rows of courses; they stay/m);
  expect(await receiptOf('one-course-69')).toMatch(/^on hold in north: none of these rows; but until/m);
});

it('approving the part of a lost school removes its rows, and keeps all other missing rows on hold', async () => {
  const [school, rest] = (await listed(two.config)).parts;
  const approved = await inTwo(`deletes approve ${school?.digest} --json`);
  expect([approved.code, approved.json()]).toMatchObject([3, { isSame: true, waiting: leavers.length }]);
  expect(approved.stderr).toContain('rollcall deletes list --tenant north');
  expect(await recordsOf(lost)).toEqual(lost.map(() => [true, false]));
  const again = await inTwo(`deletes approve ${school?.digest}`);
  expect(again).toMatchObject(ending(3, 'stderr', 'rollcall deletes list --tenant north'));
  // A further full sync removes nothing that nobody has approved.
  expect((await inTwo('pull --full')).code).toBe(3);
  expect(await recordsOf(leavers)).toEqual(leavers.map(() => [true]));
  expect(digestsOf((await listed(two.config)).parts)).toBe(rest?.digest);
  // Of no school, so there is no column for it.
  expect((await inTwo('deletes list')).stdout).toMatch(/^ {2}part +collection +rows +since +why$/m);
  putCourses(leavers);
  expect((await inTwo('pull --full')).code).toBe(0);
  expect((await inTwo('deletes list')).code).toBe(0);
});

it('rows removed by a wrong approval are published again by "pull --full" when the hub returns them', async () => {
  putSchool('lost');
  expect((await inTwo('pull --full')).code).toBe(0);
  expect(await recordsOf(lost)).toEqual(lost.map(() => [true, false, true]));
  expect((await inTwo('verify')).code).toBe(0);
});

it('an absence removed by a wrong approval gets an event DELETED, and CREATED when the hub returns it', async () => {
  await using other = await startTestTenant();
  const collections = ['absence-versions', 'absences', 'absence-changes'] as const;
  const config = other.configWith({ collections });
  expect((await say('pull --full', config)).code).toBe(0);
  other.hub.faults.set('empty-list@absence-versions');
  expect((await say('pull --full', config)).code).toBe(3);
  const digests = digestsOf((await listed(config)).parts);
  expect((await say(`deletes approve ${digests} --reason mistake`, config)).code).toBe(0);
  other.hub.faults.clear();
  expect((await say('pull --full', config)).code).toBe(0);
  const records = await readTopics([other.topic('absence-changes')]);
  const live = [...compactedView(await readTopics([other.topic('absences')])).keys()];
  const storyOf = (id: string): string =>
    records
      .flatMap(({ key, value }) => (key === id ? [value] : []))
      .map((value) =>
        value === null ? 'null' : [value['operation'], value['step'], value['cause']].join(' '),
      )
      .join(', ');
  expect(live.length).toBeGreaterThan(20);
  const chain = 'CREATED 1 HUB(, REPLACED \\d HUB)*';
  const story = new RegExp(`^${chain}, DELETED \\d VANISHED, null, ${chain}$`);
  expect(live.map(storyOf).filter((each) => !story.test(each))).toEqual([]);
});
