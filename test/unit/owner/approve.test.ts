import { expect, it } from 'vitest';
import { partsOf, type Part, type Schools } from '../../../src/core/deletions/parts.ts';
import type { CollectionName } from '../../../src/model/collections.ts';
import { APPROVE, requestFor } from '../../../src/owner/approve.ts';
import type { OwnerWork } from '../../../src/owner/owner-request.ts';
import { createMemoryStore } from '../../../src/state/memory-state.ts';
import { readWaiting } from '../../../src/sync/read-waiting.ts';
import { onHoldIn } from '../telemetry/support/board-of.ts';

const PERSON = { by: 'a person', from: 'a host', reason: null };
const USERS = ['a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'b-1', 'b-2'];

/** An owner whose `users` and `courses` wait for a decision, with what its approvals remove. */
async function holding(known = 1_000) {
  const { deletions } = createMemoryStore().tenant('north');
  const lose = async (collection: CollectionName, keys: readonly string[]): Promise<void> => {
    const misses = new Map(keys.map((key) => [key, { sinceMs: 1, times: 2 }]));
    await deletions.setMissing(collection, {
      syncId: 's',
      confirmAtMs: null,
      confirmsAll: false,
      keys: misses,
    });
  };
  await lose('users', USERS);
  await lose('courses', ['a-1', 'c-1']);
  const progress = new Map((['users', 'courses'] as const).map((name) => [name, onHoldIn(name, 7)] as const));
  const schoolsOf = (keys: readonly string[]) => new Map(keys.map((key) => [key, key.slice(0, 1)]));
  const schools: Schools = new Map([
    ['users', schoolsOf([...USERS, 'b-3', 'b-4', 'b-5', 'b-6'])],
    ['courses', schoolsOf(['a-1', 'c-1', 'c-2', 'c-3', 'c-4'])],
  ]);
  const removed: string[] = [];
  const work = {
    tenant: { tenantId: 'north', state: { deletions }, runtime: { now: () => 5 } },
    runners: new Map([...progress].map(([name, each]) => [name, { progress: each }])),
    writers: new Map([...progress].map(([name]) => [name, { known: { rows: known } }])),
    sync: async (name: string, mode: string, { approved }: { approved: { keys: ReadonlySet<string> } }) => {
      removed.push(`${name} ${mode} ${[...approved.keys].join(' ')}`);
      return { kind: 'complete', approvedGone: approved.keys.size };
    },
  } as unknown as OwnerWork;
  const waiting = await readWaiting(deletions, progress);
  const parts = partsOf(waiting.collections, schools);
  const approve = (chosen: readonly Part[], reason: string | null = null) => {
    const given = { parts: chosen.map(requestFor), person: { ...PERSON, reason } };
    return APPROVE.handleGiven(given, work);
  };
  return { parts, approve, lose, removed };
}

const ofSchool = ({ school }: Part): boolean => school === 'a';

it('the approval of a part removes the rows of this part, of each of its collections, and no other row', async () => {
  const { parts, approve, removed } = await holding();
  await expect(approve(parts.filter(ofSchool))).resolves.toMatchObject({ isSame: true });
  expect(removed).toEqual(['users FULL a-1 a-2 a-3 a-4 a-5', 'courses FULL a-1']);
});

it('an approval removes nothing if a row of the part is back, and no row that has gone missing since', async () => {
  const back = await holding();
  await back.lose('users', USERS.slice(1));
  await expect(back.approve(back.parts.filter(ofSchool))).resolves.toMatchObject({ isSame: false });
  expect(back.removed).toEqual([]);
  const { parts, approve, lose, removed } = await holding();
  await lose('users', ['a-0', ...USERS]);
  await expect(approve(parts.filter(ofSchool))).resolves.toMatchObject({ isSame: true });
  expect(removed).toEqual(['users FULL a-1 a-2 a-3 a-4 a-5', 'courses FULL a-1']);
});

it('an approval that leaves hardly any row of a collection is refused without a reason', async () => {
  const { parts, approve, removed } = await holding(7);
  await expect(approve(parts)).rejects.toThrow('90 % or more of all rows of users');
  expect(removed).toEqual([]);
  await expect(approve(parts, 'the school has closed')).resolves.toMatchObject({ isSame: true });
});
