import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, inject, it } from 'vitest';
import type { CollectionName } from '../../../src/model/collections.ts';
import { openMirror } from '../support/mirror.ts';
import { publishedLines } from '../support/planned.ts';
import { endOffsets, readTopics } from '../support/topic-reader.ts';
import { truncateTopic } from '../pipeline/recreate-topic.ts';
import { configFile } from './support/config-file.ts';
import { connectAdmin } from './support/connect-admin.ts';
import { COLLECTIONS, startTestTenant } from './support/mirrored-tenant.ts';
import { rollcall, startRollcall, type Ended } from './support/rollcall.ts';

interface Planned {
  readonly collection: CollectionName;
  readonly outcome: string;
  readonly created: number;
  readonly withheld: number;
  readonly whyWithheld: string | null;
  readonly keys?: Readonly<Record<string, readonly string[]>>;
}

function plannedIn({ stdout }: Ended): readonly Planned[] {
  const { tenants } = JSON.parse(stdout) as { tenants: { collections: Planned[] }[] };
  return tenants.flatMap(({ collections }) => collections);
}

function linesOf(planned: readonly Planned[]): string[] {
  return planned
    .flatMap(({ collection, keys = {} }) =>
      Object.entries(keys).flatMap(([kind, some]) => some.map((key) => `${collection} ${kind} ${key}`)),
    )
    .toSorted();
}

/** All that an installation has in Kafka and Redis, as far as a reader could have changed it. */
async function holdings(topicPrefix: string): Promise<object> {
  const admin = await connectAdmin();
  const redis = new Redis(inject('stack').redisUrl);
  try {
    const topics = (await admin.listTopics()).filter((name) => name.startsWith(`${topicPrefix}.`)).toSorted();
    const values: Record<string, string> = {};
    for (const key of (await redis.keys(`*${topicPrefix}*`)).toSorted()) {
      // Only heartbeats expire.
      if ((await redis.pttl(key)) >= 0) continue;
      const value = await redis.dumpBuffer(key);
      values[key] = createHash('sha256')
        .update(value ?? '')
        .digest('hex');
    }
    return {
      ends: await endOffsets(topics),
      topics,
      values,
    };
  } finally {
    await admin.disconnect();
    await redis.quit();
  }
}

describe('plan', () => {
  it('before the first run shows what the first pull publishes, and creates nothing', async () => {
    await using tenant = await startTestTenant();
    const plan = await rollcall(tenant.configPath, 'plan', '--keys', '--json');
    expect(plan.code).toBe(0);
    expect(await holdings(tenant.topicPrefix)).toEqual({ ends: {}, topics: [], values: {} });
    expect((await rollcall(tenant.configPath, 'pull', '--full')).code).toBe(0);
    const records = await readTopics(
      [...COLLECTIONS, 'rejects'].map((name) => `${tenant.topicPrefix}.north.${name}`),
    );
    expect(linesOf(plannedIn(plan))).toEqual(publishedLines(records));
    expect(records.length).toBeGreaterThan(100);
    const again = await rollcall(tenant.configPath, 'plan');
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('would publish nothing.')]);
  });

  it('shows counts to people without keys, and the keys on request', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const { district } = tenant.hub;
    district.put('orgs', { sourcedId: 'new-org', name: 'New' });
    const plan = await rollcall(tenant.configPath, 'plan', '--collection', 'orgs');
    expect(plan.stdout).toMatch(/orgs +1 created +\d+ +0 +0\n/);
    expect(plan.stdout).toContain('"rollcall pull --full"');
    expect(plan.stdout + plan.stderr).not.toContain('new-org');
    const keys = await rollcall(tenant.configPath, 'plan', '--collection', 'orgs', '--keys');
    expect(keys.stdout).toMatch(/orgs +created +new-org/);
  });

  it('names rows that are missing for the first time', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const { district } = tenant.hub;
    const gone = String(district.ids('users')[0]);
    district.remove('users', gone);
    const plan = await rollcall(tenant.configPath, 'plan', '--keys', '--json');
    expect(plannedIn(plan)).toContainEqual(
      expect.objectContaining({ collection: 'users', missing: 1, deleted: 0, keys: { missing: [gone] } }),
    );
    const shown = await rollcall(tenant.configPath, 'plan');
    expect([shown.code, shown.stdout]).toEqual([
      0,
      expect.stringMatching(/missing for the first time[^]*users +nothing +\d+ +1 /),
    ]);
  });

  it('shows deletions that the guard would withhold and why, exits with 3, and withholds nothing itself', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const gone = tenant.hub.district.ids('courses').slice(1);
    for (const id of gone) tenant.hub.district.remove('courses', id);
    const before = await holdings(tenant.topicPrefix);
    const plan = await rollcall(tenant.configPath, 'plan', '--json', '--keys');
    expect(plan.code).toBe(3);
    const courses = plannedIn(plan).find(({ collection }) => collection === 'courses');
    expect(courses).toMatchObject({ withheld: gone.length, deleted: 0 });
    expect(courses?.whyWithheld).toMatch(/\d+ of \d+/);
    expect(new Set(courses?.keys?.['withheld'])).toEqual(new Set(gone));
    expect(await holdings(tenant.topicPrefix)).toEqual(before);
    const shown = await rollcall(tenant.configPath, 'plan');
    expect(shown.code).toBe(3);
    expect(shown.stderr).toContain(`courses: ${gone.length} deletions would be withheld: `);
    expect(shown.stdout).toContain('"rollcall deletes list"');
    const pull = await rollcall(tenant.configPath, 'pull', '--full', '--json');
    expect(pull.code).toBe(3);
    const { tenants } = JSON.parse(pull.stdout) as {
      tenants: { collections: { collection: string; withheld: number }[] }[];
    };
    expect(tenants[0]?.collections.map(({ collection, withheld }) => [collection, withheld])).toEqual(
      plannedIn(plan).map(({ collection, withheld }) => [collection, withheld]),
    );
  });

  it('plans a topic whose records were all deleted as a sync publishes it', async () => {
    await using tenant = await startTestTenant();
    await tenant.sync('FULL', COLLECTIONS);
    const rows = tenant.hub.district.ids('orgs').length;
    await truncateTopic(`${tenant.topicPrefix}.north.orgs`);
    const plan = await rollcall(tenant.configPath, 'plan', '--collection', 'orgs', '--json');
    expect(plannedIn(plan)).toMatchObject([{ collection: 'orgs', created: rows }]);
  });

  it('changes nothing while a process mirrors the tenant, and nothing when none does; the process continues', async () => {
    await using mirror = await openMirror({
      collections: ['absence-versions', 'absences', 'absence-changes', 'courses', 'users'],
      hubOptions: { students: 12 },
      tenant: { deltaEvery: '1h' },
      settings: { http: { port: 0 } },
    });
    await mirror.full();
    using config = configFile(mirror.configText);
    const owner = startRollcall(config.path, ['run']);
    await owner.says('mirroring');
    // After this, no sync of the owner's own is due for an hour.
    expect((await rollcall(config.path, 'pull')).code).toBe(0);
    mirror.hub.clock.advance(600_000);
    mirror.hub.living.step(10);
    const beside = await holdings(mirror.topicPrefix);
    const plan = await rollcall(config.path, 'plan', '--json', '--keys');
    expect(plan.code).toBe(0);
    expect(await holdings(mirror.topicPrefix)).toEqual(beside);
    owner.kill('SIGTERM');
    const ended = await owner.ended;
    expect([ended.code, ended.stdout.includes('OWNERSHIP_LOST')]).toEqual([0, false]);
    const before = await holdings(mirror.topicPrefix);
    const alone = await rollcall(config.path, 'plan', '--json', '--keys');
    expect(linesOf(plannedIn(alone))).toEqual(linesOf(plannedIn(plan)));
    expect(linesOf(plannedIn(alone)).length).toBeGreaterThan(0);
    expect(await holdings(mirror.topicPrefix)).toEqual(before);
  });

  it('exits with 1 where the hub fails, and with 2 for what cannot be planned', async () => {
    await using tenant = await startTestTenant();
    const refused = tenant.configWith({ clientSecret: 'wrong' });
    const failed = await rollcall(refused, 'plan', '--collection', 'orgs');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('✗ orgs: ');
    const results = await rollcall(tenant.configPath, 'plan', '--collection', 'results');
    expect([results.code, results.stderr]).toEqual([2, expect.stringContaining('not mirrored')]);
  });
});
