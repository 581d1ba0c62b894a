import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { rollcall, startOwner, startProcess, startRollcall } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/test-tenant.ts';

const WITHIN = { timeout: 60_000, interval: 200 } as const;

let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
});
afterAll(() => tenant[Symbol.asyncDispose]());

const status = (config = tenant.config) => rollcall(config, 'status');
/** Waits until status exits like this and says so. */
const shows = (code: number, text: string, config = tenant.config) =>
  vi.waitFor(async () => {
    const ended = await status(config);
    expect([ended.code, ended.stdout]).toEqual([code, expect.stringContaining(text)]);
    return ended;
  }, WITHIN);

describe('without a process that mirrors', () => {
  it('status says so before the first run and within a minute of a kill, and exits with 1', async () => {
    await shows(1, 'no process mirrors the tenant');
    const run = startProcess(tenant.config, 'run');
    await shows(0, 'all well');
    run.kill('SIGKILL');
    await run.ended;
    await shows(1, '✗ north  owner: no process mirrors the tenant');
  });
});

describe('after a full sync whose lists were all empty', () => {
  it('pull, status and /status.json of the next process say that a person must decide, and no row is named or removed', async () => {
    await tenant.full(...COLLECTIONS);
    tenant.hub.faults.set('empty-list');
    const pull = await rollcall(tenant.config, 'pull', '--full');
    expect([pull.code, pull.stderr]).toEqual([3, expect.stringContaining('deletes list')]);
    // Without Redis only the topic shows it.
    for (const inMemory of [false, true])
      await shows(3, 'needs a decision: ', tenant.configWith({ inMemory }));
    expect((await status()).stdout).toMatch(/: \d+ deletions are withheld in .*courses/);
    const listed = await rollcall(tenant.config, 'deletes', 'list', '--json');
    const { tenants } = listed.json<{
      tenants: { collections: { keys: string[]; schools: object[] }[] }[];
    }>();
    const held = tenants.flatMap(({ collections }) => collections);
    expect(held.flatMap(({ schools }) => schools).length).toBeGreaterThan(0);
    const keys = held.flatMap((each) => each.keys);
    expect(keys).toHaveLength(COLLECTIONS.flatMap((name) => tenant.hub.district.ids(name)).length);
    await using run = await startOwner(tenant.config);
    await vi.waitFor(async () => {
      const text = await (await run.get('/status.json')).text();
      expect(text).toContain('rollcall deletes approve <digest>');
      expect(keys.filter((key) => text.includes(`"${key}"`))).toEqual([]);
    }, WITHIN);
    await run.stop();
    tenant.hub.faults.clear();
  });
});

describe('a hub without absences', () => {
  it('is mirrored: pull exits with 0 each time and says what is not offered', async () => {
    await using other = await startTestTenant();
    other.hub.faults.set('not-offered@absence-versions');
    const collections = ['orgs', 'students', 'absence-versions', 'absences', 'absence-changes', 'schedules'];
    const config = other.configWith({ collections });
    for (let times = 0; times < 2; times += 1) {
      const pull = await rollcall(config, 'pull', '--full');
      expect([pull.code, pull.stderr]).toEqual([0, expect.not.stringContaining('✗')]);
      expect(pull.stdout).toMatch(/schedules +not-offered/);
    }
    await shows(1, 'no process mirrors the tenant', config);
    await using _ = startRollcall(config, 'run');
    const says = 'all well; the hub does not offer absence-versions, schedules';
    expect((await shows(0, says, config)).stdout).toMatch(/absence-changes .* not offered/);
  });
});
