import { describe, expect, it } from 'vitest';
import { watchWithheld } from '../../../src/cli/watch-withheld.ts';
import { newSyncStats } from '../../../src/core/sync-stats.ts';
import { boardOf, loaded } from '../telemetry/support/board-of.ts';

const LISTED = {
  collection: 'users',
  keys: ['a'],
  sinceMs: 1,
  isHeld: true,
  isLost: false,
  count: 1,
  why: null,
} as const;
const GROUPS = [{ by: 'school', counts: [{ id: 's1', name: 'Hill School', rows: 312 }] }] as const;

/** One entry for each look: the digest of the list; null: Redis does not answer. */
async function watch(looks: readonly (string | null)[]) {
  const startMs = Date.parse('2026-11-20T12:00:00Z');
  const world = boardOf(startMs);
  world.isWell();
  const deletions = {
    settledBy: 'p1',
    day: '2026-11-20',
    removed: 0,
    heldSinceMs: startMs,
    why: null,
    approval: null,
  };
  world.board.note('north', {
    type: 'sync-ended',
    collection: 'users',
    outcome: 'complete',
    why: null,
    short: null,
    durationMs: 0,
    rows: 400,
    rejects: 0,
    stats: newSyncStats({ syncId: 'p1', mode: 'FULL', startedAtMs: startMs }),
    progress: { ...loaded('users', startMs), rowsWithheld: 312, deletions },
  });
  const ending = new AbortController();
  const read: string[] = [];
  let look = -1;
  await watchWithheld({
    tenants: ['north'],
    readWaiting: async () => {
      const digest = looks[look] ?? null;
      if (digest === null) throw new Error('Redis does not answer');
      return { collections: [LISTED], digest };
    },
    readGroups: async (tenant, lists) => {
      read.push(`${tenant} ${looks[look]}`);
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
        {
          decisions: [{ groups: [{ collection: 'users', ...GROUPS[0], others: { groups: 0, rows: 0 } }] }],
        },
      ],
    });
  });

  it('are read once for each list, and after an outage of Redis', async () => {
    const { read } = await watch([null, 'd1', 'd1', null, 'd2', 'd2']);
    expect(read).toEqual(['north d1', 'north d2']);
  });
});
