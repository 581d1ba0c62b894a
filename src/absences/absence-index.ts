import { isContradictory, isShown, type AbsenceEntry } from '../core/absences/absence-entry.ts';
import { decodeEntry, decodePointer, encodeEntry, encodePointer } from '../core/absences/entry-codec.ts';
import { decodeAbsent } from '../core/absences/current-absence.ts';
import type { DayWindow } from '../core/lessons/window.ts';
import { DAY_MS } from '../core/zone-clock.ts';
import { RollcallError } from '../errors.ts';
import type { DerivedCollection } from '../model/collections.ts';
import type { CollectionIndex, IndexArea, IndexChange } from '../state/index-store.ts';
import { lookUpAll } from '../table/look-up-all.ts';
import type { LookUp } from '../table/table.ts';
import type { DerivedAbsences } from '../core/absences/derive-absences.ts';

/**
 * The absences of these ids from the index of `absence-versions`, by absence id. It takes two round trips. If it meets
 * an entry that cannot be decoded, it drops the index, so that it is rebuilt, and throws INDEX_DIVERGED.
 */
export async function loadAbsences(
  index: CollectionIndex,
  lookUp: LookUp,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, AbsenceEntry>> {
  const keys = [...ids];
  const find = (area: IndexArea) => lookUpAll(lookUp, area, keys);
  const [pointers, own] = await Promise.all([find('pointers'), find('absences')]);
  try {
    const entries = new Map<string, AbsenceEntry>();
    for (const [key, bytes] of own) entries.set(key, decodeEntry(key, bytes));
    const others = new Set([...pointers.values()].map(decodePointer).filter((key) => !entries.has(key)));
    const found = await lookUpAll(lookUp, 'absences', [...others]);
    if (found.size < others.size) throw new RangeError('a pointer names no absence');
    for (const [key, bytes] of found) entries.set(key, decodeEntry(key, bytes));
    return entries;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    await index.rebuild();
    const what = 'An entry of the index of absences in Redis cannot be decoded';
    const remedy = 'There is nothing to do: Rollcall rebuilds this index from the topics.';
    throw new RollcallError('INDEX_DIVERGED', what, { remedy, cause: error });
  }
}

/** How many keys `absences` and `absence-changes` have. */
export async function countRows(
  index: CollectionIndex,
  lookUp: LookUp,
): Promise<Record<DerivedCollection, number>> {
  const known = (await index.count('absences')) - (await index.count('forgotten'));
  const ended = await index.count('ended');
  let unpublished = 0;
  let hidden = 0;
  const open = new Set<string>();
  for await (const keys of index.keys('open')) for (const key of keys) open.add(key);
  for (const [key, entry] of await loadAbsences(index, lookUp, open)) {
    if (!open.has(key)) continue;
    if (entry.published === null) unpublished += 1;
    else if (entry.published.step > 0 && !entry.published.isDeleted && !isShown(entry)) hidden += 1;
  }
  // This throws if the index was lost or restored meanwhile: then the counts would be wrong.
  await lookUp('absences', []);
  const published = known - unpublished;
  return { 'absence-changes': published, absences: published - ended - hidden };
}

/**
 * Students with a current absence that touches these days, from the index of `absence-versions`. It covers absences that end
 * within or after the window of schedules. `dateAt`: the date `YYYY-MM-DD` of an instant (ms since the epoch) in the tenant's
 * time zone.
 */
export async function absentStudents(
  index: Pick<CollectionIndex, 'entries'>,
  { from, to }: DayWindow,
  dateAt: (ms: number) => string,
): Promise<Set<string>> {
  const students = new Set<string>();
  for await (const entries of index.entries('absent')) {
    for (const [, value] of entries) {
      const { studentId, fromMs, toMs } = decodeAbsent(value);
      if (dateAt(fromMs) <= to && dateAt(toMs) >= from) students.add(studentId);
    }
  }
  return students;
}

/** Days since the epoch, UTC. */
export function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

function encodeDay(day: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(day);
  return bytes;
}

export function decodeDay(bytes: Buffer): number {
  return bytes.readInt32BE();
}

const EMPTY = Buffer.alloc(0);

/** The area of the index in which an absence is counted once it is deleted; null: it is current, or was never published. */
type Rest = 'ended' | 'forgotten' | null;

/** The changes of the index that follow from a derivation, except those of `bodies` and `absent`. */
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
    const [contradictedBefore, contradicts] = [had, entry].map(
      (each) => each !== null && isContradictory(each),
    );
    if (contradictedBefore !== contradicts) put('contradictions', contradicts === true ? EMPTY : null);
    contradictions += Number(contradicts) - Number(contradictedBefore);
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
