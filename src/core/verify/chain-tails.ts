import type { ChainRow } from '../chains/chain-state.ts';
import { resolve } from '../chains/chain-rules.ts';

/** A version of an absence at the hub. */
export interface HubVersion {
  readonly row: ChainRow;
  /** Content hash, as 16 Latin-1 characters. */
  readonly hash: string;
  readonly modifiedAtMs: number | null;
  /** ms since the epoch; null when it is not deleted */
  readonly deletedMs: number | null;
}

/** A chain of versions, resolved as if nothing of it were published. */
export interface HubChain {
  /** The absence id of a first publication; an absence that is already published keeps its own. */
  readonly name: string;
  readonly versionIds: readonly string[];
  /** The current version; null once the absence is deleted. */
  readonly tail: string | null;
  /**
   * The tail names a successor that the hub does not have. If the departed successor was a deletion, the absence stays
   * deleted (rule 3 in core/chains/chain-rules.ts), and the hub alone does not show this.
   */
  readonly endsInMissing: boolean;
  /** The hub's rows contradict each other: any of the versions may be the published one. */
  readonly isContradictory: boolean;
}

/** Rows to resolve at a time; this bounds the memory that resolving needs. */
const ROWS_AT_ONCE = 5_000;

/** The chains of these versions, which must be all that the hub has (spec 3, by core/chains). */
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

/** Ids of all versions that are linked, directly or indirectly, with any of these ids. */
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
  const present = new Set(rows.map(({ id }) => id));
  const referred = new Set(
    rows.flatMap(({ replaces, replacedBy }) => [replaces, replacedBy].filter((id) => id !== null)),
  );
  const missing = [...referred].filter((id) => !present.has(id));
  const ids = [...present, ...missing];
  const { versions, currents, contradictions } = resolve({
    rows,
    gone: missing,
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
    if (entry === null || entry.absenceId === null || !present.has(id)) continue;
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
      endsInMissing: successor !== null && !present.has(successor),
      isContradictory: versionIds.some((id) => doubtful.has(id)),
    };
  });
}

/** Rows grouped by direct or indirect links (union-find); keys are arbitrary members. */
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
