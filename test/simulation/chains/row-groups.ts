import { chainRowOf } from '../../../src/core/chains/chain-row.ts';
import type { ChainRow } from '../../../src/core/chains/chain-state.ts';
import { viewOf, type PublishedLog } from './published-log.ts';

/** Versions that are connected by any links, whatever the student. */
export interface RowGroup {
  readonly ids: ReadonlySet<string>;
  readonly present: readonly ChainRow[];
  /**
   * Departed versions, each in all its published forms, the newest first: a rebuilt index knows of them only what events
   * still show.
   */
  readonly left: readonly (readonly ChainRow[])[];
}

export function rowGroups(log: PublishedLog): RowGroup[] {
  const published = viewOf(log.versions);
  const versions = new Map<string, Map<string, ChainRow>>();
  for (const { key, value } of log.versions) {
    if (value === null) continue;
    const row = chainRowOf(value);
    const rows = versions.get(key) ?? new Map<string, ChainRow>();
    const text = JSON.stringify(row);
    rows.delete(text);
    versions.set(key, published.has(key) ? new Map([[text, row]]) : rows.set(text, row));
  }
  const all = [...versions].map(([id, rows]) => ({ id, rows: [...rows.values()].toReversed() }));
  return groupsOf(all.flatMap(({ rows }) => rows)).map((ids) => {
    const members = all.filter(({ id }) => ids.has(id));
    return {
      ids,
      present: members.flatMap(({ id, rows }) => (published.has(id) ? rows : [])),
      left: members.flatMap(({ id, rows }) => (published.has(id) ? [] : [rows])),
    };
  });
}

function groupsOf(rows: readonly ChainRow[]): ReadonlySet<string>[] {
  const group = new Map<string, Set<string>>();
  for (const { id, replaces, replacedBy } of rows) {
    const all = new Set<string>();
    for (const each of [id, replaces, replacedBy]) {
      if (each === null) continue;
      all.add(each);
      for (const member of group.get(each) ?? []) all.add(member);
    }
    for (const each of all) group.set(each, all);
  }
  return [...new Set(group.values())];
}

/** Ids of versions of which the topics may show less than was once known. */
export function idsBesideLeft(log: PublishedLog): ReadonlySet<string> {
  const beside = new Set<string>();
  for (const { ids, left } of rowGroups(log)) if (left.length > 0) for (const id of ids) beside.add(id);
  return beside;
}
