import type { OutgoingRecord } from '../log/log.ts';
import { ABSENCE_AREAS, type IndexChange } from '../state/index-store.ts';
import { changelogRecords } from '../table/changelog.ts';
import type { TenantAbsences } from '../table/tenant.ts';
import type { AbsenceTenant } from './render-absences.ts';
import { keptUnderMapping } from './version-records.ts';

/** An entry that is copied from or to `absence-state`, as the mapping in force leaves it (invariant 12). */
export function copied(absences: TenantAbsences, change: IndexChange): IndexChange {
  const { area, value } = change;
  if (value === null) return change;
  if (area === 'bodies') return { ...change, value: keptUnderMapping(absences, value) };
  return area === 'absent' && absences.absentSinceMs() === null ? { ...change, value: null } : change;
}

/** Yields the entries of the index as records of `absence-state`, some at a time. */
export async function* changelogOf({
  state,
  absences,
}: AbsenceTenant): AsyncGenerator<readonly OutgoingRecord[]> {
  const index = state.collection('absence-versions');
  for (const area of ABSENCE_AREAS) {
    for await (const entries of index.entries(area)) {
      const changes = entries.map(([key, value]) => copied(absences, { area, key, value }));
      if (changes.length > 0) yield changelogRecords(changes);
    }
  }
}
