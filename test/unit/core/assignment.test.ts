import fc from 'fast-check';
import { expect, it } from 'vitest';
import { assign, type Member } from '../../../src/core/assignment.ts';
import { forAll } from '../support/for-all.ts';

const tenantIds = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`);
const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 60 });

/** Workers that claim anything: nothing, more than their share, tenants of others, tenants that nobody knows. */
const claimsOf = (knowsOf: (tenants: string[]) => fc.Arbitrary<string[]>, ...revisions: string[]) =>
  names.chain((tenants) => {
    const holds = fc.subarray([...tenants, 'unknown']);
    const claim = { id: fc.string({ maxLength: 3 }), holds, knows: knowsOf(tenants) };
    const member = fc.record({ ...claim, revision: fc.constantFrom('one', ...revisions) });
    return fc.uniqueArray(member, { selector: ({ id }) => id, minLength: 1, maxLength: 9 });
  });
/** All have read the same configuration; each another one; and each is of one revision or the other. */
const alike = claimsOf((tenants) => fc.constant(tenants));
const unlike = claimsOf((tenants) => fc.subarray(tenants));
const mixed = claimsOf((tenants) => fc.subarray(tenants), 'two');

/** A group after some joins: everything is assigned. */
const settled = fc
  .record({ members: fc.integer({ min: 1, max: 9 }), tenants: fc.integer({ min: 0, max: 60 }) })
  .map(({ members, tenants }) => {
    const knows = tenantIds(tenants);
    let group: Member[] = [];
    for (let count = 1; count <= members; count += 1)
      group = after([...group, { id: `m${count}`, holds: [], knows, revision: 'one' }]);
    return { group, tenants: knows };
  });

/** The members with what they have been assigned. */
function after(members: readonly Member[]): Member[] {
  const assigned = assign(members);
  return members.map((each) => ({ ...each, holds: assigned.get(each.id) ?? [] }));
}

/** The tenants that are with another worker afterwards. */
function moved(before: readonly Member[], assigned: ReadonlyMap<string, readonly string[]>): string[] {
  return before.flatMap(({ id, holds }) =>
    holds.filter((tenant) => assigned.get(id)?.includes(tenant) !== true),
  );
}

const sorted = (assigned: ReadonlyMap<string, readonly string[]>) =>
  new Map([...assigned].map(([id, has]) => [id, has.toSorted()]));

/** By how many tenants the largest part exceeds the smallest. */
function spreadOf(parts: readonly (readonly string[])[]): number {
  const loads = parts.map(({ length }) => length);
  return Math.max(...loads) - Math.min(...loads);
}

const known = (members: readonly Member[]): string[] => [...new Set(members.flatMap(({ knows }) => knows))];

it('an assignment gives each tenant that any worker knows to exactly one worker that knows it', () => {
  forAll([fc.oneof(alike, unlike, mixed), fc.infiniteStream(fc.nat())], (members, keys) => {
    const assigned = assign(members);
    expect([...assigned.keys()].sort()).toEqual(members.map(({ id }) => id).sort());
    expect([...assigned.values()].flat().sort()).toEqual(known(members).sort());
    for (const { id, knows } of members)
      expect(assigned.get(id)?.filter((tenant) => !knows.includes(tenant))).toEqual([]);
    const shuffled = <T>(values: readonly T[]): T[] =>
      values
        .map((value) => [keys.next().value ?? 0, value] as const)
        .sort(([one], [other]) => one - other)
        .map(([, value]) => value);
    const again = shuffled(members).map(({ holds, knows, ...rest }) =>
      Object.assign(rest, { holds: shuffled(holds), knows: shuffled(knows) }),
    );
    expect(sorted(assign(again))).toEqual(sorted(assigned));
    // Of what all know, the numbers of two workers differ by at most one.
    if (new Set(members.map(({ revision }) => revision)).size > 1) return;
    const isCommon = (tenant: string) => members.every(({ knows }) => knows.includes(tenant));
    expect(spreadOf([...assigned.values()].map((has) => has.filter(isCommon)))).toBeLessThanOrEqual(1);
  });
});

it('an assignment moves no more tenants than an even share requires, if no two workers hold the same one', () => {
  const apart = alike.map((members) => {
    const free = new Set(known(members));
    return members.map((each) => ({ ...each, holds: each.holds.filter((tenant) => free.delete(tenant)) }));
  });
  forAll([apart], (members) => {
    const tenants = known(members).length;
    const each = Math.floor(tenants / members.length);
    const larger = tenants % members.length;
    const tooMany = members
      .map(({ holds }) => holds.length)
      .sort((one, other) => other - one)
      .map((load, at) => Math.max(0, load - each - (at < larger ? 1 : 0)));
    const needed = tooMany.reduce((sum, count) => sum + count, 0);
    expect(moved(members, assign(members))).toHaveLength(needed);
  });
});

it('an assignment moves no tenant of a living worker if nothing changes, or if revisions differ', () => {
  forAll([unlike.map(after), fc.nat()], (group, at) => {
    expect(moved(group, assign(group))).toEqual([]);
    const newer = { id: 'newer', holds: [], knows: known(group), revision: 'two' };
    for (const left of [group, group.toSpliced(at % group.length, 1)])
      expect(moved(left, assign([...left, newer]))).toEqual([]);
  });
});

it('a tenant that only one worker knows goes to it, and moves at most one once all workers know it', () => {
  forAll([settled, fc.nat()], ({ group, tenants }, at) => {
    const knows = [...tenants, 'new'];
    const one = group[at % group.length]?.id ?? '';
    const first = group.map((each) => (each.id === one ? { ...each, knows } : each));
    const assigned = assign(first);
    expect(assigned.get(one)).toContain('new');
    expect(moved(group, assigned)).toEqual([]);
    const all = after(first).map((each) => Object.assign(each, { knows }));
    expect(moved(all, assign(all)).length).toBeLessThanOrEqual(1);
  });
});

it('a roll-out moves each tenant once if every worker has one, and the new workers share them evenly', () => {
  forAll([settled], ({ group, tenants }) => {
    fc.pre(tenants.length >= group.length);
    let members = group;
    let moves = 0;
    for (const [at, { id }] of group.entries()) {
      members = after([...members, { id: `n${at}`, holds: [], knows: tenants, revision: 'two' }]);
      const rest = members.filter((each) => each.id !== id);
      moves += members.find((each) => each.id === id)?.holds.length ?? 0;
      moves += moved(rest, assign(rest)).length;
      members = after(rest);
    }
    expect(moves).toBe(tenants.length);
    expect(spreadOf(members.map(({ holds }) => holds))).toBeLessThanOrEqual(1);
  });
});
