import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import type { TenantStatus } from '../../../src/core/health/tenant-status.ts';
import { halfADayAfter } from '../support/half-a-day.ts';
import { differences } from '../support/hub-oracle.ts';
import { configTextOf, newTopicPrefix, startTestHub } from '../support/mirror.ts';
import { readTopics } from '../support/topic-reader.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { startRollcall, type RollcallProcess } from './rollcall-process.ts';

const WITHIN_MS = 60_000;
/** The same in each version of the configuration. */
const FULL_PULL = { at: halfADayAfter(Date.now()), timeZone: 'Europe/Oslo' };

let hub: ReferenceHub;
let topicPrefix: string;
const processes: RollcallProcess[] = [];
beforeEach(async () => {
  hub = await startTestHub({ students: 12 });
  topicPrefix = newTopicPrefix();
});
afterEach(async () => {
  for (const each of processes.splice(0)) await each[Symbol.asyncDispose]();
  await hub.stop();
  await deleteTopicsOf(topicPrefix);
});

/** A configuration of these tenants of one hub, each with the settings that it is given. */
function configText(tenants: Readonly<Record<string, object>>, settings: object = {}): string {
  const text = configTextOf(hub, topicPrefix, {
    collections: ['users'],
    tenant: { deltaEvery: '1s', fullPull: FULL_PULL },
    settings: { kafka: { session: '6s', partitions: 1 } },
  });
  const config = JSON.parse(text) as { tenants: [object] };
  const [tenant] = config.tenants;
  const all = Object.entries(tenants).map(([id, own]) => Object.assign({}, tenant, { id }, own));
  return JSON.stringify({ ...config, ...settings, tenants: all });
}

const named = (...ids: readonly string[]) => Object.fromEntries(ids.map((id) => [id, {}]));

async function start(text: string): Promise<RollcallProcess> {
  const started = await startRollcall(['run'], text);
  processes.push(started);
  return started;
}

interface Status {
  readonly ready: boolean;
  readonly configuration: { readonly isValid: boolean; readonly note: { readonly why: string } | null };
  readonly tenants: readonly (TenantStatus & { readonly isHere: boolean })[];
}

async function ask(of: RollcallProcess, path: string): Promise<string> {
  const port = /"port":(\d+)/.exec(of.output())?.[1];
  return (await fetch(`http://127.0.0.1:${port}${path}`)).text();
}
const statusOf = async (of: RollcallProcess, query = '') =>
  JSON.parse(await ask(of, `/status.json${query}`)) as Status;

/** The tenants that a process has, all of them loaded. */
async function mirrored(of: RollcallProcess): Promise<string[]> {
  const tenants = (await statusOf(of)).tenants.filter(({ isHere }) => isHere);
  expect(tenants.filter(({ state }) => state !== 'well').map(({ headline }) => headline)).toEqual([]);
  return tenants.map(({ tenant }) => tenant).toSorted();
}

const until = <T>(what: () => Promise<T>): Promise<T> =>
  vi.waitFor(what, { timeout: WITHIN_MS, interval: 100 });

/** How often each tenant was taken over. */
async function takeOvers(ids: readonly string[]): Promise<Record<string, number>> {
  const records = await readTopics(ids.map((id) => `${topicPrefix}.${id}.progress`));
  const owners = records.filter(({ key }) => key === '@owner');
  return Object.fromEntries(
    ids.map((id) => [id, owners.filter(({ topic }) => topic === `${topicPrefix}.${id}.progress`).length]),
  );
}

let changes = 0;

/** A change of the hub reaches the topic of each of these tenants. */
async function expectToFollowHub(ids: readonly string[]): Promise<void> {
  const [id = ''] = hub.district.ids('users');
  changes += 1;
  hub.district.patch('users', id, { givenName: `Name ${changes}` });
  await until(async () => {
    const topics = ids.map((tenant) => `${topicPrefix}.${tenant}.users`);
    const records = await readTopics(topics);
    for (const name of topics) {
      const own = records.filter(({ topic }) => topic === name);
      expect(differences({ hub, collection: 'users', records: own })).toEqual([]);
    }
  });
}

describe('a running process whose configuration is rewritten', () => {
  it('adds, changes and removes tenants without touching the others; a wrong file changes nothing and is shown until it is mended', async () => {
    const process = await start(configText(named('a', 'b', 'c', 'changed', 'gone', 'left')));
    await until(async () =>
      expect(await mirrored(process)).toEqual(['a', 'b', 'c', 'changed', 'gone', 'left']),
    );
    const all = ['a', 'b', 'c', 'changed', 'new', 'newer'];
    const second = {
      ...named('a', 'b', 'c'),
      changed: { collections: ['users', 'orgs'] },
      ...named('new', 'newer'),
    };
    await process.configure(configText(second));
    await until(async () => {
      expect(await mirrored(process)).toEqual(all);
      const { tenants } = await statusOf(process, '?details=changed');
      const { collections } = tenants.find(({ tenant }) => tenant === 'changed') as TenantStatus;
      expect(collections.map(({ collection }) => collection).sort()).toEqual(['orgs', 'users']);
    });
    const once = { a: 1, b: 1, c: 1, gone: 1, left: 1, new: 1, newer: 1 };
    expect(await takeOvers(['changed', ...Object.keys(once)])).toEqual({ ...once, changed: 2 });
    await expectToFollowHub(all);
    const orgs = await readTopics([`${topicPrefix}.changed.orgs`]);
    expect(differences({ hub, collection: 'orgs', records: orgs })).toEqual([]);
    expect(await ask(process, '/metrics')).not.toMatch(/tenant="(?:gone|left)"/);

    await process.configure(JSON.stringify({ tenants: [] }));
    await until(async () => expect((await statusOf(process)).configuration.isValid).toBe(false));
    const { configuration, ready } = await statusOf(process);
    expect(configuration.note?.why).toContain('line 1: tenants names no tenant');
    expect([ready, await mirrored(process)]).toEqual([true, all]);
    expect(await ask(process, '/metrics')).toContain('rollcall_configuration_valid 0');
    await until(async () => {
      await using status = await startRollcall(['status'], configText(second));
      await status.endsWith(0);
      expect(status.output()).toContain('! the configuration on disk is not valid');
      expect(status.output()).toContain('✓ a  all well');
    });
    await expectToFollowHub(all);

    await process.configure(
      configText({ ...second, ...named('last') }, { registry: { url: 'http://other' } }),
    );
    process.kill('SIGHUP');
    await until(async () => expect(await mirrored(process)).toEqual([...all, 'last'].sort()));
    expect((await statusOf(process)).configuration).toMatchObject({
      isValid: true,
      note: { why: expect.stringContaining('registry.url') as string },
    });
    expect(await takeOvers(['changed', ...Object.keys(once)])).toEqual({ ...once, changed: 2 });
    process.kill('SIGTERM');
    await process.endsWith(0);
    expect(process.output().match(/is not valid, and the process goes on/g)).toHaveLength(1);
  });
});

describe('two workers whose configuration changes one after the other', () => {
  it('mirror each tenant with one that knows it, and leave the others where they are', async () => {
    const before = configText(named('a', 'b', 'c', 'd', 'e', 'gone'));
    const [one, other] = [await start(before), await start(before)];
    const shares = () => Promise.all([mirrored(one), mirrored(other)]);
    await until(async () => expect((await shares()).map(({ length }) => length)).toEqual([3, 3]));
    const kept = ['a', 'b', 'c', 'd', 'e'];
    const atFirst = await takeOvers(kept);

    const after = configText(named(...kept, 'new', 'newer'));
    await one.configure(after);
    await until(async () => {
      const [ofOne, ofOther] = await shares();
      expect(ofOne).toEqual(expect.arrayContaining(['new', 'newer']));
      expect(ofOther).toContain('gone');
      expect([...ofOne, ...ofOther].sort()).toEqual([...kept, 'gone', 'new', 'newer'].sort());
    });
    expect(await takeOvers(kept)).toEqual(atFirst);
    await expectToFollowHub([...kept, 'gone', 'new', 'newer']);

    await other.configure(after);
    await until(async () => {
      const [ofOne, ofOther] = await shares();
      expect([...ofOne, ...ofOther].sort()).toEqual([...kept, 'new', 'newer'].sort());
      expect(Math.abs(ofOne.length - ofOther.length)).toBe(1);
    });
    const moves = Object.values(await takeOvers(kept)).reduce((sum, count) => sum + count, 0);
    expect(moves - Object.values(atFirst).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(1);
    await expectToFollowHub([...kept, 'new', 'newer']);
    for (const each of [one, other]) each.kill('SIGTERM');
    for (const each of [one, other]) await each.endsWith(0);
  });
});
