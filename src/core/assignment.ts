/** A worker of the group. */
export interface Member {
  readonly id: string;
  /** The tenants that it mirrors now. */
  readonly holds: readonly string[];
  /** Those of its configuration, which alone it can mirror. */
  readonly knows: readonly string[];
  /** Of its deployment. */
  readonly revision: string;
}

/**
 * Shares the tenants that anybody knows among workers: each goes to exactly one that knows it. Of those that all know, the
 * numbers of any two workers differ by at most one. A worker keeps what it holds as far as that allows, so that a new one
 * moves only what becomes its own, and one that left only what was its own. A tenant that only some know, as while a changed
 * configuration reaches one after the other, moves none of the others. While one revision replaces another, nobody who lives
 * loses a tenant: those of a worker that leaves go to its successor, which held none, and a roll-out moves each tenant once.
 * The result depends on the content of the input alone, not on its order.
 */
export function assign(members: readonly Member[]): Map<string, string[]> {
  const knowing = members
    .map((member) => ({ ...member, known: new Set(member.knows) }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
  const tenants = new Set(knowing.flatMap(({ knows }) => knows).sort());
  const isRollOut = members.some(({ revision }) => revision !== members[0]?.revision);
  const common = isRollOut
    ? []
    : [...tenants].filter((tenant) => knowing.every(({ known }) => known.has(tenant)));
  const shares = shareEvenly(members, common);
  const held = new Set(knowing.flatMap(({ holds, known }) => holds.filter((tenant) => known.has(tenant))));
  const others = [...tenants.difference(new Set(common))];
  for (const tenant of [
    ...others.filter((each) => held.has(each)),
    ...others.filter((each) => !held.has(each)),
  ]) {
    const able = knowing
      .filter(({ known }) => known.has(tenant))
      .map(({ id, holds }) => ({ has: shares.get(id) ?? [], holds, isHolder: holds.includes(tenant) }))
      .sort((one, other) => one.has.length - other.has.length || one.holds.length - other.holds.length);
    (able.find(({ isHolder }) => isHolder) ?? able[0])?.has.push(tenant);
  }
  return shares;
}

function shareEvenly(members: readonly Member[], tenants: readonly string[]): Map<string, string[]> {
  const free = new Set([...tenants].sort());
  const each = Math.floor(free.size / members.length);
  // So many workers have one more than the others: at first those that hold the most, as they would lose it otherwise.
  let larger = free.size % members.length;
  const shares = members
    .map(({ id, holds }) => ({
      id,
      holds: holds.filter((tenant) => free.has(tenant)).sort(),
      has: [] as string[],
    }))
    .sort((one, other) => other.holds.length - one.holds.length || (one.id < other.id ? -1 : 1));
  for (const { holds, has } of shares) {
    const own = holds.filter((tenant) => free.has(tenant));
    const isLarger = own.length > each && larger > 0;
    if (isLarger) larger -= 1;
    for (const tenant of own.slice(0, isLarger ? each + 1 : each)) {
      free.delete(tenant);
      has.push(tenant);
    }
  }
  for (const { has } of shares) has.push(...taken(free, each - has.length));
  // What remains is less than one for each.
  for (const { has } of shares) if (has.length === each) has.push(...taken(free, 1));
  return new Map(shares.map(({ id, has }) => [id, has]));
}

function taken(free: Set<string>, count: number): string[] {
  const some = [...free.values().take(Math.max(0, count))];
  for (const tenant of some) free.delete(tenant);
  return some;
}
