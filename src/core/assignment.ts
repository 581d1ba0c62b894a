/** A worker of the group. */
export interface Member {
  readonly id: string;
  /** The tenants that it mirrors now. */
  readonly holds: readonly string[];
  /** The tenants of its configuration. It can mirror only these. */
  readonly knows: readonly string[];
  /** The revision of its deployment. */
  readonly revision: string;
}

/**
 * Shares all tenants that any worker knows among the workers. Each tenant goes to exactly one worker that knows it.
 * This only says which worker is to own a tenant; which process does own it is settled in Kafka (log/take-over.ts).
 *
 * - The tenants that all workers know are shared evenly: the numbers that workers get of them differ by at most one. A
 * worker keeps what it holds as far as this allows. So when a worker joins, only the tenants that it gets move, and
 * when a worker leaves, only the tenants that it had.
 * - A tenant that only some workers know causes no other tenant to move. There are such tenants while a changed
 * configuration is rolled out from worker to worker.
 * - While one revision replaces another, no living worker loses a tenant. The tenants of a worker that leaves go to its
 * successor, which held none. So a roll-out moves each tenant once.
 *
 * The result depends only on the content of the input, not on its order.
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
  // This many workers have one tenant more than the others. The workers that hold the most come first, because they
  // would lose a tenant otherwise.
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
  // What remains is less than one tenant for each worker.
  for (const { has } of shares) if (has.length === each) has.push(...taken(free, 1));
  return new Map(shares.map(({ id, has }) => [id, has]));
}

function taken(free: Set<string>, count: number): string[] {
  const some = [...free.values().take(Math.max(0, count))];
  for (const tenant of some) free.delete(tenant);
  return some;
}
