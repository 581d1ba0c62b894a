import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assign, type Holder } from '../../../src/core/assignment.ts';

const tenantIds = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`);
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 60 });

/** Workers that claim anything: nothing, more than their share, tenants of others, tenants that nobody knows. */
const claims = names.chain((tenants) =>
  fc.record({
    tenants: fc.constant(tenants),
    members: fc.uniqueArray(
      fc.record({ id: fc.string({ maxLength: 3 }), holds: fc.subarray([...tenants, 'unknown']) }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 9 },
    ),
  }),
);

/** A group after some joins: everything is assigned. */
const settled = fc
  .record({ members: fc.integer({ min: 1, max: 9 }), tenants: fc.integer({ min: 0, max: 60 }) })
  .map(({ members, tenants }) => {
    let group: Holder[] = [];
    for (let count = 1; count <= members; count += 1)
      group = holders(assign([...group, { id: `m${count}`, holds: [] }], tenantIds(tenants)));
    return { group, tenants: tenantIds(tenants) };
  });

function holders(assigned: ReadonlyMap<string, readonly string[]>): Holder[] {
  return [...assigned].map(([id, holds]) => ({ id, holds }));
}

/** The tenants that are with another worker afterwards. */
function moved(before: readonly Holder[], after: ReadonlyMap<string, readonly string[]>): string[] {
  return before.flatMap(({ id, holds }) =>
    holds.filter((tenant) => after.get(id)?.includes(tenant) !== true),
  );
}

const sorted = (assigned: ReadonlyMap<string, readonly string[]>) =>
  [...assigned]
    .map(([id, has]) => [id, has.toSorted()] as const)
    .sort(([one], [other]) => (one < other ? -1 : 1));

describe('an assignment, whatever the workers claim', () => {
  it('has each tenant exactly once, and none that is not to be shared', () => {
    fc.assert(
      fc.property(claims, ({ members, tenants }) => {
        const assigned = assign(members, tenants);
        expect([...assigned.keys()].sort()).toEqual(members.map(({ id }) => id).sort());
        expect([...assigned.values()].flat().sort()).toEqual(tenants.toSorted());
      }),
    );
  });

  it('is balanced: the numbers of two workers differ by at most one', () => {
    fc.assert(
      fc.property(claims, ({ members, tenants }) => {
        const loads = [...assign(members, tenants).values()].map(({ length }) => length);
        expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('does not depend on the order of workers, tenants and claims', () => {
    fc.assert(
      fc.property(claims, fc.infiniteStream(fc.nat()), ({ members, tenants }, keys) => {
        const shuffled = <T>(values: readonly T[]): T[] =>
          values
            .map((value) => [keys.next().value ?? 0, value] as const)
            .sort(([one], [other]) => one - other)
            .map(([, value]) => value);
        const again = assign(
          shuffled(members).map(({ id, holds }) => ({ id, holds: shuffled(holds) })),
          shuffled(tenants),
        );
        expect(sorted(again)).toEqual(sorted(assign(members, tenants)));
      }),
    );
  });

  it('moves no more than an even share needs, where no two claim the same', () => {
    const apart = claims.map(({ members, tenants }) => {
      const free = new Set(tenants);
      const own = members.map(({ id, holds }) => ({
        id,
        holds: holds.filter((tenant) => free.delete(tenant)),
      }));
      return { members: own, tenants };
    });
    fc.assert(
      fc.property(apart, ({ members, tenants }) => {
        const each = Math.floor(tenants.length / members.length);
        const larger = tenants.length % members.length;
        const tooMany = members
          .map(({ holds }) => holds.length)
          .sort((one, other) => other - one)
          .map((load, at) => Math.max(0, load - each - (at < larger ? 1 : 0)));
        const needed = tooMany.reduce((sum, count) => sum + count, 0);
        expect(moved(members, assign(members, tenants))).toHaveLength(needed);
      }),
    );
  });

  it('gives a tenant that two claim to one of them', () => {
    const both = assign(
      [
        { id: 'a', holds: ['t0', 't1'] },
        { id: 'b', holds: ['t1'] },
      ],
      tenantIds(2),
    );
    expect(sorted(both)).toEqual([
      ['a', ['t0']],
      ['b', ['t1']],
    ]);
  });
});

describe('an assignment is sticky', () => {
  it('nothing moves when nothing changes', () => {
    fc.assert(
      fc.property(settled, ({ group, tenants }) => {
        expect(moved(group, assign(group, tenants))).toEqual([]);
      }),
    );
  });

  it('a join moves at most ⌊M/(N+1)⌋ tenants, all to the new worker', () => {
    fc.assert(
      fc.property(settled, ({ group, tenants }) => {
        const after = assign([...group, { id: 'new', holds: [] }], tenants);
        const moves = moved(group, after);
        expect(moves.length).toBeLessThanOrEqual(Math.floor(tenants.length / (group.length + 1)));
        expect(after.get('new')?.toSorted()).toEqual(moves.sort());
      }),
    );
  });

  it('a leave or a crash moves exactly the tenants of the one that is gone', () => {
    fc.assert(
      fc.property(settled, fc.nat(), ({ group, tenants }, at) => {
        const gone = at % group.length;
        const rest = group.filter((_, index) => index !== gone);
        if (rest.length === 0) return;
        expect(moved(rest, assign(rest, tenants))).toEqual([]);
      }),
    );
  });
});
