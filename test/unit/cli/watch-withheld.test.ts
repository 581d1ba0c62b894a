import { describe, expect, it } from 'vitest';
import { watchWithheld } from '../../../src/cli/watch-withheld.ts';
import { boardOf } from '../telemetry/support/board-of.ts';

const GROUPS = [{ by: 'school', counts: [{ id: 's1', name: 'Hill School', rows: 312 }] }] as const;

/** One entry for each look: the digest of the list of enrollments; null: Redis does not answer. */
async function watch(looks: readonly (string | null)[]) {
  const world = boardOf(Date.parse('2026-11-20T12:00:00Z'));
  world.isWell();
  world.board.note('north', {
    type: 'deletion',
    event: { kind: 'waiting', collection: 'users', rows: 312 },
  });
  const ending = new AbortController();
  const read: string[] = [];
  let look = -1;
  await watchWithheld({
    statuses: () => world.board.statuses(),
    readList: async (_, collection) => {
      const digest = looks[look] ?? null;
      if (digest === null) throw new Error('Redis does not answer');
      return { collection, keys: ['a'], digest };
    },
    readGroups: async (tenant, lists) => {
      read.push(`${tenant} ${lists.map(({ digest }) => digest).join(' ')}`);
      return new Map(lists.map(({ collection }) => [collection, GROUPS]));
    },
    note: (tenant, groups) => world.board.noteWithheldGroups(tenant, groups),
    signal: ending.signal,
    sleep: async () => {
      look += 1;
      if (look === looks.length) ending.abort();
    },
  });
  return { read, json: world.board.json() };
}

describe('the withheld deletions that the page counts', () => {
  it('stand with the decision, by school', async () => {
    const { json } = await watch(['d1']);
    expect(json).toMatchObject({
      tenants: [
        { decisions: [{ collection: 'users', groups: [{ ...GROUPS[0], others: { groups: 0, rows: 0 } }] }] },
      ],
    });
  });

  it('are read once for each list, and after an outage of Redis', async () => {
    const { read } = await watch([null, 'd1', 'd1', null, 'd2', 'd2']);
    expect(read).toEqual(['north d1', 'north d2']);
  });
});
