import { clusterOf, rowsById, type ChainInput } from './cluster.ts';

/** Ids to look up before the rows can be resolved. */
export interface MissingChainState {
  /** Version ids to look up in the index. */
  readonly versions: readonly string[];
  /** Absence ids to look up in the index. */
  readonly absences: readonly string[];
  /**
   * Ids to ask the hub for; complete only when the other two are empty. Versions that the hub has come back as rows;
   * ids that it does not have come back in `gone`. The caller may defer the question (during a full sync the rest of
   * the chain mostly arrives by itself): a chain with such an id stays pending.
   */
  readonly hub: readonly string[];
}

/**
 * The ids to look up. The caller looks them up and calls again, until `versions` and `absences` are empty, and `hub`
 * too if it asks the hub. This takes few more rounds than the longest chain has versions. A round serves all chains at
 * once, and each id comes at most once.
 */
export function missing(input: ChainInput): MissingChainState {
  const rows = rowsById(input.rows);
  const cluster = clusterOf(input, rows);
  const gone = new Set(input.gone);
  const vanished = new Set(input.vanished);
  const hub = new Set<string>();
  const refer = (id: string | null): void => {
    if (id === null || rows.has(id) || gone.has(id)) return;
    const entry = input.chainState.versions.get(id);
    if (entry === null || entry?.state === 'unresolved') hub.add(id);
  };
  for (const id of cluster.versions) {
    const row = rows.get(id);
    const entry = input.chainState.versions.get(id);
    if (row !== undefined) {
      refer(row.replaces);
      refer(row.replacedBy);
    } else if (entry?.state === 'present' && !vanished.has(id)) {
      refer(entry.replaces);
      refer(entry.replacedBy);
    }
  }
  return { versions: cluster.unknownVersions, absences: cluster.unknownAbsences, hub: [...hub] };
}
