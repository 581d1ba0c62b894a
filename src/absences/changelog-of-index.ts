import type { OutgoingRecord } from '../log/log.ts';
import { ABSENCE_AREAS, type IndexChange } from '../state/index-store.ts';
import { changelogRecords } from '../table/changelog.ts';
import type { TenantAbsences } from '../table/tenant.ts';
import type { AbsenceTenant } from './render-absences.ts';
import { keptUnderMapping } from './version-records.ts';

/** The limit of records in a transaction. */
const RECORDS_AT_ONCE = 5_000;

/** An entry that is copied from or to `absence-state`, as the mapping in force leaves it (invariant 12). */
export function copied(absences: TenantAbsences, change: IndexChange): IndexChange {
  const { area, value } = change;
  if (value === null) return change;
  if (area === 'bodies') return { ...change, value: keptUnderMapping(absences, value) };
  return area === 'absent' && absences.absentSinceMs() === null ? { ...change, value: null } : change;
}

/** Yields the entries of the index as records of `absence-state`, one transaction's worth at a time. */
export async function* changelogOf({
  state,
  absences,
}: AbsenceTenant): AsyncGenerator<readonly OutgoingRecord[]> {
  const index = state.collection('absence-versions');
  let waiting: IndexChange[] = [];
  for (const area of ABSENCE_AREAS) {
    for await (const entries of index.entries(area)) {
      for (const [key, value] of entries) waiting.push(copied(absences, { area, key, value }));
      if (waiting.length < RECORDS_AT_ONCE) continue;
      yield changelogRecords(waiting);
      waiting = [];
    }
  }
  if (waiting.length > 0) yield changelogRecords(waiting);
}
