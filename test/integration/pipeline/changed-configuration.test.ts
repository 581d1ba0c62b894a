import { afterAll, expect, it, vi } from 'vitest';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { differences } from '../../oracle/rows.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { deleteTopicsOf, readTopics } from '../support/stack-kafka.ts';
import { startProcess, type RollcallProcess } from '../support/running.ts';

const KEPT = ['a', 'b', 'c', 'd', 'e'];
const TENANTS = [...KEPT, 'new', 'newer'];
const SESSION_MS = 6_000;
/** The other notices within a heartbeat; then it opens what it got. The machine may be busy. */
const OPENED_WITHIN_MS = 15_000;

const until = <T>(what: () => Promise<T>): Promise<T> => vi.waitFor(what);

interface Status {
  readonly configuration: { readonly isValid: boolean };
  readonly tenants: readonly (TenantStatus & { readonly isHere: boolean })[];
}

async function statusOf(process: RollcallProcess): Promise<Status> {
  return (await (await process.get('/status.json')).json()) as Status;
}

/** The tenants that a process has, all of them loaded. */
async function mirrored(process: RollcallProcess): Promise<string[]> {
  const tenants = (await statusOf(process)).tenants.filter(({ isHere }) => isHere);
  expect(tenants.filter(({ state }) => state !== 'well').map(({ headline }) => headline)).toEqual([]);
  return tenants.map(({ tenant }) => tenant);
}

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
const hub = resources.use(await startTestHub({ students: 12 }));
const topicPrefix = resources.adopt(newTopicPrefix(), deleteTopicsOf);
const text = configTextOf(hub, topicPrefix, {
  collections: ['users'],
  tenant: { incrementalEvery: '1s' },
  settings: { kafka: { session: `${SESSION_MS}ms`, partitions: 1 } },
});
const config = JSON.parse(text) as { tenants: [object] };

/** A configuration of these tenants of one hub. `a` with other settings is a changed one. */
function configOf(ids: readonly string[], settings: object = {}): string {
  const tenants = ids.map((id) => Object.assign({}, config.tenants[0], { id }, id === 'a' ? settings : {}));
  return JSON.stringify({ ...config, tenants });
}

async function takeOvers(): Promise<number[]> {
  const topics = KEPT.map((id) => `${topicPrefix}.${id}.progress`);
  const owners = (await readTopics(topics)).filter(({ key }) => key === '@owner');
  return topics.map((name) => owners.filter(({ topic }) => topic === name).length);
}

/** A change of the hub reaches the topic of each of these tenants. */
async function expectToFollowHub(ids: readonly string[]): Promise<void> {
  const [id = ''] = hub.district.ids('users');
  hub.district.patch('users', id, { givenName: `Name ${performance.now()}` });
  const topics = ids.map((tenant) => `${topicPrefix}.${tenant}.users`);
  await until(async () => {
    const all = await readTopics(topics);
    for (const name of topics) {
      const records = all.filter(({ topic }) => topic === name);
      expect(differences({ hub, collection: 'users', records })).toEqual([]);
    }
  });
}

const before = configOf([...KEPT, 'gone']);
const one = resources.use(startProcess(before, 'run'));
const other = resources.use(startProcess(before, 'run'));

it('workers that get a new configuration one by one move and restart only the tenants concerned', async () => {
  const shares = () => Promise.all([mirrored(one), mirrored(other)]);
  await until(async () => expect((await shares()).map(({ length }) => length)).toEqual([3, 3]));
  const atFirst = await takeOvers();

  one.configure(configOf(TENANTS));
  await until(async () => {
    const [ofOne, ofOther] = await shares();
    expect(ofOne).toEqual(expect.arrayContaining(['new', 'newer']));
    expect(ofOther).toContain('gone');
    expect([...ofOne, ...ofOther].sort()).toEqual([...TENANTS, 'gone'].sort());
  });
  expect(await takeOvers()).toEqual(atFirst);
  await expectToFollowHub([...TENANTS, 'gone']);

  other.configure(configOf(TENANTS));
  await until(async () => {
    const [ofOne, ofOther] = await shares();
    expect([...ofOne, ...ofOther].sort()).toEqual([...TENANTS].sort());
    expect(Math.abs(ofOne.length - ofOther.length)).toBe(1);
  });
  const moved = await takeOvers();
  const more = moved.map((count, at) => count - (atFirst[at] ?? 0)).reduce((sum, count) => sum + count, 0);
  expect(more).toBeLessThanOrEqual(1);

  for (const each of [one, other]) each.configure(configOf(TENANTS, { collections: ['users', 'orgs'] }));
  await until(async () => {
    expect(await takeOvers()).toEqual([(moved[0] ?? 0) + 1, ...moved.slice(1)]);
    expect((await shares()).flat().sort()).toEqual([...TENANTS].sort());
    const records = await readTopics([`${topicPrefix}.a.orgs`]);
    expect(differences({ hub, collection: 'orgs', records })).toEqual([]);
  });
  one.configure(configOf([]));
  await until(async () => expect((await statusOf(one)).configuration.isValid).toBe(false));
  expect((await shares()).flat().sort()).toEqual([...TENANTS].sort());
  // The heartbeat may be some seconds old.
  await until(async () => {
    await using status = startProcess(configOf(TENANTS), 'status', '--wrong');
    await status.endsWith(0);
    expect(status.output()).toMatch(/^7 tenants: 7 well$/m);
    expect(status.output()).toContain('! the configuration on disk is not valid');
    expect(status.output()).not.toContain('all well');
  });
  await expectToFollowHub(TENANTS);
});

it('a worker takes over the tenants of a killed worker once kafka.session has passed', async () => {
  other.kill('SIGKILL');
  const options = { timeout: SESSION_MS + OPENED_WITHIN_MS, interval: 100 };
  await vi.waitFor(async () => expect((await mirrored(one)).toSorted()).toEqual(TENANTS.toSorted()), options);
  await expectToFollowHub(TENANTS);
  one.kill('SIGTERM');
  await one.endsWith(0);
});
