import { STATE_TOPIC } from '../model/collections.ts';
import type { LoggedRecord, OutgoingRecord } from '../log/log.ts';
import { ABSENCE_AREAS, type IndexArea, type IndexChange } from '../state/index-store.ts';

const AREAS: ReadonlySet<IndexArea> = new Set(ABSENCE_AREAS);
/** A recovery reads millions of keys, and trying these few prefixes costs less than cutting each key at its `/`. */
const PREFIXES = ABSENCE_AREAS.map((area) => ({ area, prefix: `${area}/` }));
const NO_HEADERS = {};

/**
 * The records of `absence-state` for changes of the index of absences. The key is `<area>/<key>`, and the value is
 * the value in the index. If an entry changes several times, the last change counts. Changes of rows are left out,
 * because rows have topics of their own.
 */
export function changelogRecords(changes: readonly IndexChange[]): readonly OutgoingRecord[] {
  const latest = new Map<string, Buffer | null>();
  for (const { area, key, value } of changes) if (AREAS.has(area)) latest.set(`${area}/${key}`, value);
  return Array.from(latest, ([key, body]) => ({ topic: STATE_TOPIC, key, body, headers: NO_HEADERS }));
}

/** The index change that a record of `absence-state` describes; null for a record that Rollcall did not write. */
export function changeIn({ key, value }: Pick<LoggedRecord, 'key' | 'value'>): IndexChange | null {
  for (const { area, prefix } of PREFIXES)
    if (key.startsWith(prefix)) return { area, key: key.slice(prefix.length), value };
  return null;
}
