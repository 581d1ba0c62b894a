import { expect, inject, it } from 'vitest';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { withAdmin } from '../support/stack-kafka.ts';

const ROWS = ['users', 'enrollments', 'results', 'absence-versions'];
const COLLECTIONS = [...ROWS, 'absences', 'absence-changes'];
const PAGE_ROWS = 100;
const TEN_MINUTES_MS = 600_000;
const ROUNDS = 3;
const CHANGES = 60;

/** The brokers that lead the partitions of a tenant's collections. */
function leadersOf(mirror: Mirror): Promise<Set<number>> {
  return withAdmin(async (admin) => {
    const { topics } = await admin.fetchTopicMetadata({
      topics: COLLECTIONS.map((name) => mirror.topic(name)),
    });
    return new Set(topics.flatMap(({ partitions }) => partitions.map(({ leader }) => leader)));
  });
}

it('a first load and later changes put no record twice into topics that several brokers lead', async (context) => {
  if (inject('stack').replicationFactor === 1) context.skip('needs several brokers');
  await using mirror = await openMirror({
    collections: COLLECTIONS,
    hubSettings: { pageSize: PAGE_ROWS },
    hubOptions: { students: 120 },
  });
  await mirror.full();
  expect((await leadersOf(mirror)).size).toBeGreaterThan(1);
  const { clock, district, living } = mirror.hub;
  for (const name of ROWS) expect(district.snapshot(name).length).toBeGreaterThan(2 * PAGE_ROWS);
  expect(await mirror.differences()).toEqual({});
  for (let round = 0; round < ROUNDS; round += 1) {
    clock.advance(TEN_MINUTES_MS);
    living.step(CHANGES);
    await mirror.incremental();
  }
  // Rows may have left, too.
  await mirror.full();
  expect(await mirror.differences()).toEqual({});
});
