import type { SyncRequest } from './group-coordinator.ts';

/** Each tenant goes to exactly one member, and no more of them move than an even share needs. */
export function noteUnfairShares(
  problems: Set<string>,
  {
    tenants,
    metadata,
    shares,
  }: {
    readonly tenants: readonly string[];
    readonly metadata: ReadonlyMap<string, Buffer>;
    readonly shares: SyncRequest['groupAssignment'];
  },
): void {
  const given = new Map(
    shares.map(({ memberId, memberAssignment }) => [
      memberId,
      (JSON.parse(String(memberAssignment)) as { tenants: string[] }).tenants,
    ]),
  );
  const all = [...given.values()].flat();
  if (all.length !== tenants.length || tenants.some((tenant) => !all.includes(tenant)))
    problems.add('an assignment has not every tenant exactly once');
  if ([...given.keys()].some((id) => !metadata.has(id)) || given.size !== metadata.size)
    problems.add('an assignment is not for the members of its generation');
  const claims = [...metadata].map(
    ([id, bytes]) => [id, (JSON.parse(String(bytes)) as { holds: string[] }).holds] as const,
  );
  // Of two that claim a tenant one loses it, whoever is right.
  if (new Set(claims.flatMap(([, holds]) => holds)).size < claims.flatMap(([, holds]) => holds).length)
    return;
  const moved = claims.flatMap(([id, holds]) =>
    holds.filter((tenant) => given.get(id)?.includes(tenant) !== true),
  );
  const each = Math.floor(tenants.length / claims.length);
  const larger = tenants.length % claims.length;
  const needed = claims
    .map(([, { length }]) => length)
    .sort((one, other) => other - one)
    .reduce((sum, length, at) => sum + Math.max(0, length - each - (at < larger ? 1 : 0)), 0);
  if (moved.length > needed) problems.add('an assignment moves more tenants than needed');
}
