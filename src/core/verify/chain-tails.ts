import type { ChainRow } from '../chains/chain-state.ts';
import { resolve } from '../chains/resolve.ts';

/** A version of an absence as the hub has it. */
export interface HubVersion {
  readonly row: ChainRow;
  /** Content hash, as 16 Latin-1 characters. */
  readonly hash: string;
  readonly modifiedAtMs: number | null;
  /** ms since the epoch; null while it is not deleted */
  readonly deletedMs: number | null;
}

/** A chain of versions, as if nothing had ever been told of it. */
export interface HubChain {
  /** The id that it would be published under; one that was published earlier keeps its own. */
  readonly name: string;
  readonly versionIds: readonly string[];
  /** The current version; null once the absence is deleted. */
  readonly tail: string | null;
  /**
   * The tail names a successor that the hub does not have. If that was a deletion when it left, the absence stays deleted
   * (rule 3 in core/chains/resolve.ts), which the hub alone does not tell.
   */
  readonly endsInGone: boolean;
  /** The hub tells what cannot all be true: another version may be shown just as well. */
  readonly isContradictory: boolean;
}

/** Chains resolved together: what it takes besides the rows is gone afterwards. */
const ROWS_AT_ONCE = 5_000;

/** The chains of these versions, of which the hub has no others (spec 3, by core/chains). */
export function chainsOf(versions: ReadonlyMap<string, HubVersion>): HubChain[] {
  const chains: HubChain[] = [];
  let batch: ChainRow[] = [];
  for (const linked of linkedRows(versions).values()) {
    batch.push(...linked);
    if (batch.length < ROWS_AT_ONCE) continue;
    chains.push(...resolved(batch));
    batch = [];
  }
  return [...chains, ...resolved(batch)];
}

/** Ids of all versions that hang together with some of these ids. */
export function linkedWith(versions: ReadonlyMap<string, HubVersion>, ids: ReadonlySet<string>): Set<string> {
  const linked = new Set(ids);
  for (const rows of linkedRows(versions).values()) {
    const all = rows.flatMap(({ id, replaces, replacedBy }) => [id, replaces ?? id, replacedBy ?? id]);
    if (all.some((id) => ids.has(id))) for (const id of all) linked.add(id);
  }
  return linked;
}

function resolved(rows: readonly ChainRow[]): HubChain[] {
  if (rows.length === 0) return [];
  const there = new Set(rows.map(({ id }) => id));
  const referred = new Set(
    rows.flatMap(({ replaces, replacedBy }) => [replaces, replacedBy].filter((id) => id !== null)),
  );
  const gone = [...referred].filter((id) => !there.has(id));
  const ids = [...there, ...gone];
  const { versions, currents, contradictions } = resolve({
    rows,
    gone,
    chainState: {
      versions: new Map(ids.map((id) => [id, null])),
      absences: new Map(ids.map((id) => [id, null])),
    },
    mode: 'final',
    sequence: 1,
  });
  const tails = new Map(currents.map(({ absenceId, versionId }) => [absenceId, versionId]));
  const doubtful = new Set(contradictions.flatMap(({ versionIds }) => versionIds));
  const members = new Map<string, string[]>();
  for (const [id, entry] of versions) {
    if (entry === null || entry.absenceId === null || !there.has(id)) continue;
    const siblings = members.get(entry.absenceId) ?? [];
    siblings.push(id);
    members.set(entry.absenceId, siblings);
  }
  const successors = new Map(rows.map(({ id, replacedBy }) => [id, replacedBy]));
  return [...members].map(([name, versionIds]) => {
    const tail = tails.get(name) ?? null;
    const successor = tail === null ? null : (successors.get(tail) ?? null);
    return {
      name,
      versionIds,
      tail,
      endsInGone: successor !== null && !there.has(successor),
      isContradictory: versionIds.some((id) => doubtful.has(id)),
    };
  });
}

/** Rows by what they hang together with, however loosely. */
function linkedRows(versions: ReadonlyMap<string, HubVersion>): Map<string, ChainRow[]> {
  const parents = new Map<string, string>();
  const rootOf = (id: string): string => {
    let root = id;
    for (let up = parents.get(root); up !== undefined; up = parents.get(root)) root = up;
    for (let at = id; at !== root;) {
      const up = parents.get(at) ?? root;
      parents.set(at, root);
      at = up;
    }
    return root;
  };
  for (const { row } of versions.values()) {
    for (const other of [row.replaces, row.replacedBy]) {
      if (other === null) continue;
      const one = rootOf(row.id);
      const two = rootOf(other);
      if (one !== two) parents.set(one, two);
    }
  }
  const groups = new Map<string, ChainRow[]>();
  for (const { row } of versions.values()) {
    const root = rootOf(row.id);
    const group = groups.get(root);
    if (group === undefined) groups.set(root, [row]);
    else group.push(row);
  }
  return groups;
}
