/** A worker of the group, and the tenants that it mirrors now. */
export interface Holder {
  readonly id: string;
  readonly holds: readonly string[];
}

/**
 * Shares tenants among workers: each tenant goes to exactly one, and the numbers of any two workers differ by at most one.
 * A worker keeps what it holds as far as that allows, so that a new one moves only what becomes its own, and one that left
 * only what was its own. The result depends on the content of the input alone, not on its order.
 */
export function assign(members: readonly Holder[], tenants: readonly string[]): Map<string, string[]> {
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
