import { odditiesOf, type AbsenceEntry, type Oddities } from '../core/absences/absence-entry.ts';
import type { DerivedAbsences } from '../core/absences/derive-absences.ts';
import { encodeEntry, encodeOddities, encodePointer } from '../core/absences/entry-codec.ts';
import type { IndexArea, IndexChange } from '../state/index-store.ts';
import { encodeDay } from './ended-day.ts';

const EMPTY = Buffer.alloc(0);

/** How an absence counts beside its current ones. */
type Rest = 'ended' | 'forgotten' | null;

/** The changes of the index that follow from a derivation, but those of `bodies` and `absent`. */
export function indexChanges(
  before: ReadonlyMap<string, AbsenceEntry>,
  derived: DerivedAbsences,
  today: number,
): { changes: IndexChange[]; contradictions: number } {
  const changes: IndexChange[] = [];
  const deleted = new Set(
    derived.steps.flatMap((step) => (step.operation === 'DELETED' ? step.absenceId : [])),
  );
  let contradictions = 0;
  for (const [key, entry] of derived.entries) {
    const had = before.get(key) ?? null;
    if (entry === null && had === null) continue;
    const put = (area: IndexArea, value: Buffer | null): number => changes.push({ area, key, value });
    put('absences', entry === null ? null : encodeEntry(key, entry));
    const isOpen = entry?.isOpen === true;
    if (isOpen !== (had?.isOpen === true)) put('open', isOpen ? EMPTY : null);
    const [rested, rests] = [restOf(had), restOf(entry)];
    if (rested !== rests && rested !== null) put(rested, null);
    if (rests === 'ended' && (rested !== rests || deleted.has(key))) put('ended', encodeDay(today));
    if (rests === 'forgotten' && rested !== rests) put('forgotten', EMPTY);
    const [odd, isOdd] = [oddOf(had), oddOf(entry)];
    if (odd.links !== isOdd.links || odd.students !== isOdd.students)
      put('contradictions', isSound(isOdd) ? null : encodeOddities(isOdd));
    contradictions += Number(isSound(odd)) - Number(isSound(isOdd));
  }
  for (const [key, absenceId] of derived.pointers)
    changes.push({ area: 'pointers', key, value: absenceId === null ? null : encodePointer(absenceId) });
  return { changes, contradictions };
}

function restOf(entry: AbsenceEntry | null): Rest {
  if (entry?.published == null) return null;
  if (entry.published.step === 0) return 'forgotten';
  return entry.published.isDeleted ? 'ended' : null;
}

const NOTHING_ODD: Oddities = { links: 0, students: 0 };

function oddOf(entry: AbsenceEntry | null): Oddities {
  return entry === null ? NOTHING_ODD : odditiesOf(entry);
}

function isSound({ links, students }: Oddities): boolean {
  return links + students === 0;
}
