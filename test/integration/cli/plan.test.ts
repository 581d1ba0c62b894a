import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { openMirror } from '../support/mirror.ts';
import { publishedLines } from '../support/planned.ts';
import { endOffsets, readTopics } from '../support/topic-reader.ts';
import { withAdmin } from '../pipeline/kafka-admin.ts';
import { rollcall, startOwner } from './support/rollcall.ts';
import { COLLECTIONS, startTestTenant, type TestTenant } from './support/test-tenant.ts';

interface Planned {
  readonly collection: string;
  readonly withheld: number;
  readonly whyWithheld: string | null;
  readonly keys?: Readonly<Record<string, readonly string[]>>;
}

async function plan(config: string, ...args: readonly string[]) {
  const ended = await rollcall(config, 'plan', '--keys', '--json', ...args);
  const { tenants } = ended.json<{ tenants: { collections: Planned[] }[] }>();
  const planned = tenants.flatMap(({ collections }) => collections);
  const lines = planned.flatMap(({ collection, keys = {} }) =>
    Object.entries(keys).flatMap(([kind, some]) => some.map((key) => `${collection} ${kind} ${key}`)),
  );
  return { code: ended.code, planned, lines: lines.toSorted() };
}

/** All that an installation has in Kafka and Redis, as far as a reader could have changed it. */
async function holdings(topicPrefix: string): Promise<object> {
  const topics = await withAdmin((admin) => admin.listTopics());
  const ends = await endOffsets(topics.filter((name) => name.startsWith(`${topicPrefix}.`)).toSorted());
  const redis = new Redis(inject('stack').redisUrl);
  const values: Record<string, string> = {};
  for (const key of (await redis.keys(`*${topicPrefix}*`)).toSorted()) {
    // Only heartbeats expire.
    if ((await redis.pttl(key)) >= 0) continue;
    const value = (await redis.dumpBuffer(key)) ?? '';
    values[key] = createHash('sha256').update(value).digest('hex');
  }
  redis.disconnect();
  return { ends, values };
}

describe('plan', () => {
  let tenant: TestTenant;
  beforeAll(async () => {
    tenant = await startTestTenant();
  });
  afterAll(() => tenant[Symbol.asyncDispose]());

  it('before the first run shows what the first pull publishes, and creates nothing', async () => {
    const { code, lines } = await plan(tenant.config);
    expect(code).toBe(0);
    expect(await holdings(tenant.topicPrefix)).toEqual({ ends: {}, values: {} });
    expect((await rollcall(tenant.config, 'pull', '--full')).code).toBe(0);
    const records = await readTopics([...COLLECTIONS, 'rejects'].map(tenant.topic));
    expect(lines).toEqual(publishedLines(records));
    expect(lines.length).toBeGreaterThan(100);
    const again = await rollcall(tenant.config, 'plan');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('would publish nothing.')]);
  });

  it('shows counts to people, keys on request, and names rows that are missing for the first time', async () => {
    const { district } = tenant.hub;
    const gone = String(district.ids('users')[0]);
    district.put('orgs', { sourcedId: 'new-org', name: 'New' });
    district.remove('users', gone);
    const shown = await rollcall(tenant.config, 'plan');
    expect([shown.code, shown.stderr]).toEqual([0, expect.not.stringContaining('new-org')]);
    expect(shown.stdout).toMatch(/orgs +1 created +\d+ +0 +0\n/);
    expect(shown.stdout).toMatch(/missing for the first time[^]*users +nothing +\d+ +1 /);
    expect(shown.stdout).toContain('"rollcall pull --full"');
    expect(shown.stdout).not.toContain('new-org');
    const keys = await rollcall(tenant.config, 'plan', '--collection', 'orgs', '--keys');
    expect(keys.stdout).toMatch(/orgs +created +new-org/);
    expect((await plan(tenant.config)).planned).toContainEqual(
      expect.objectContaining({ collection: 'users', missing: 1, deleted: 0, keys: { missing: [gone] } }),
    );
    expect((await rollcall(tenant.config, 'pull', '--full')).code).toBe(0);
  });

  it('shows deletions that the guard would withhold and why, exits with 3, and withholds nothing itself', async () => {
    const gone = tenant.hub.district.ids('courses').slice(1);
    for (const id of gone) tenant.hub.district.remove('courses', id);
    const before = await holdings(tenant.topicPrefix);
    const { code, planned } = await plan(tenant.config);
    expect(code).toBe(3);
    const courses = planned.find(({ collection }) => collection === 'courses');
    expect(courses).toMatchObject({ withheld: gone.length, deleted: 0 });
    expect(courses?.whyWithheld).toMatch(/\d+ of \d+/);
    expect(courses?.keys?.['withheld']?.toSorted()).toEqual(gone.toSorted());
    expect(await holdings(tenant.topicPrefix)).toEqual(before);
    const shown = await rollcall(tenant.config, 'plan');
    expect(shown.code).toBe(3);
    expect(shown.stderr).toContain(`courses: ${gone.length} deletions would be withheld: `);
    expect(shown.stdout).toContain('"rollcall deletes list"');
    const pull = await rollcall(tenant.config, 'pull', '--full', '--json');
    const [pulled] = pull.json<{ tenants: [{ collections: Planned[] }] }>().tenants;
    const withheld = (some: readonly Planned[]) => some.map((each) => [each.collection, each.withheld]);
    expect([pull.code, withheld(pulled.collections)]).toEqual([3, withheld(planned)]);
  });

  it('exits with 1 where the hub fails', async () => {
    const refused = tenant.configWith({ hubSettings: { clientSecret: 'wrong' } });
    const failed = await rollcall(refused, 'plan', '--collection', 'orgs');
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('✗ orgs: ')]);
  });

  it('changes nothing while a process mirrors the tenant, and nothing when none does; the process continues', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes', 'courses', 'users'],
      hubOptions: { students: 12 },
      tenant: { deltaEvery: '1h' },
      settings: { http: { port: 0 } },
    });
    const { configText, topicPrefix } = mirror;
    await mirror.full();
    await using owner = await startOwner(configText);
    // After this, no sync of the owner's own is due for an hour.
    expect((await rollcall(configText, 'pull')).code).toBe(0);
    mirror.hub.clock.advance(600_000);
    mirror.hub.living.step(10);
    const unchanged = async () => {
      const before = await holdings(topicPrefix);
      const { code, lines } = await plan(configText);
      expect([code, lines.length > 0]).toEqual([0, true]);
      expect(await holdings(topicPrefix)).toEqual(before);
      return lines;
    };
    const beside = await unchanged();
    const ended = await owner.stop();
    expect([ended.code, ended.stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
    expect(await unchanged()).toEqual(beside);
  });
});
