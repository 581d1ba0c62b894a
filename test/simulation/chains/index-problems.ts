import { isShown, type AbsenceEntry } from '../../../src/core/absences/absence-entry.ts';
import { absentEntryOf, decodeAbsent, type AbsentEntry } from '../../../src/core/absences/current-absence.ts';
import { decodeEntry, decodePointer } from '../../../src/core/absences/entry-codec.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import type { Progress } from '../../../src/model/progress.ts';
import type { MirroredAbsences } from './mirrored-absences.ts';
import { studentBehind } from './mappings.ts';
import { viewOf, type PublishedLog } from './published-log.ts';

const VERSIONS = 'absence-versions';
const AREAS = areasOf(VERSIONS);
const DAY_MS = 24 * 3_600_000;

/** Invariant 1: an index at the end of the log agrees with the topics, and no absence is open. */
export function differencesFromIndex(world: MirroredAbsences, log: PublishedLog): string[] {
  const index = world.redis.contents(VERSIONS);
  const rebuilt = world.rebuilt.contents(VERSIONS);
  return [
    ...problemsOfIndex(world, log).map((why) => `the index: ${why}`),
    ...AREAS.flatMap((area) =>
      compare(
        area,
        [...rebuilt[area]].map(([key, value]) => [key, value.toString('hex')]),
        [...index[area]].map(([key, value]) => [key, value.toString('hex')]),
      ).map((why) => `the rebuilt index is not the index: ${why}`),
    ),
  ];
}

function problemsOfIndex(world: MirroredAbsences, log: PublishedLog): string[] {
  const contents = world.redis.contents(VERSIONS);
  const versions = viewOf(log.versions);
  const absences = viewOf(log.absences);
  const changes = viewOf(log.changes);
  const derivedUpTo = world.broker.transactions.findIndex(({ derived }) => derived.some(endsFirstLoad));
  const rejects = world.broker.viewOf('rejects');
  const sinceMs = world.absentSinceMs();
  const entries = [...contents.absences].map(([key, bytes]) => [key, decodeEntry(key, bytes)] as const);
  const present = new Set(
    entries.flatMap(([, { members }]) =>
      members.flatMap(({ id, state }) => (state === 'present' ? [id] : [])),
    ),
  );
  return [
    ...compare(
      'rows',
      [...contents.rows].map(([key, hash]) => [key, hash.toString('hex')]),
      [...versions].map(([key, { headers }]) => [key, headers['content-hash'] ?? '']),
    ),
    ...compare(
      'rejects',
      [...contents.rejects].map(([key, hash]) => [`absence-versions|${key}`, hash.toString('hex')]),
      [...rejects].map(([key, { headers }]) => [key, headers['content-hash'] ?? '']),
    ),
    ...compare(
      'absence-changes',
      entries.flatMap(([key, { published }]) =>
        published === null || published.step === 0
          ? []
          : [[key, `step ${published.step} ${published.versionId}${published.isDeleted ? ' deleted' : ''}`]],
      ),
      [...changes].flatMap(([key, { value }]) =>
        value === null
          ? []
          : [
              [
                key,
                `step ${value.step} ${value.version.sourcedId}${value.operation === 'DELETED' ? ' deleted' : ''}`,
              ],
            ],
      ),
    ),
    ...compare(
      'absences',
      entries.flatMap(([key, entry]) => (isShown(entry) ? [[key, entry.published?.versionId ?? '']] : [])),
      [...absences].map(([key, { value }]) => [key, value?.sourcedId ?? '']),
    ),
    ...compare(
      'ended',
      [...contents.ended].map(([key, day]) => [key, String(day.readInt32BE())]),
      [...changes].flatMap(([key, { value }]) =>
        value?.operation === 'DELETED' ? [[key, String(Math.floor(value.detectedAt / DAY_MS))] as const] : [],
      ),
    ),
    ...compare(
      'forgotten',
      [...contents.forgotten.keys()].map((key) => [key, 'forgotten']),
      entries.flatMap(([key, { published }]) => (published?.step === 0 ? [[key, 'forgotten']] : [])),
    ),
    ...compare(
      'absent',
      [...contents.absent].flatMap(([key, bytes]) => {
        const entry = decodeAbsent(bytes);
        return sinceMs < Infinity && isPseudonym(entry) ? [] : [[key, JSON.stringify(entry)] as const];
      }),
      [...absences].flatMap(([key, { published }]) => {
        const entry = published === null ? null : absentEntryOf(published);
        return entry === null || entry.toMs < sinceMs || isPseudonym(entry)
          ? []
          : [[key, JSON.stringify(entry)] as const];
      }),
    ),
    ...compare(
      'versions at the hub',
      [...present].map((id) => [id, 'present']),
      // What became unreadable before absences were switched on keeps its record; what the full sync missed that derived them
      // first joins its absence with its next change.
      [...versions].flatMap(([key, { transaction }]) =>
        (rejects.has(`absence-versions|${key}`) || transaction <= derivedUpTo) && !present.has(key)
          ? []
          : [[key, 'present'] as const],
      ),
    ),
    ...compare(
      'pointers',
      [...contents.pointers].map(([key, bytes]) => [key, decodePointer(bytes)]),
      entries.flatMap(([key, { members }]) =>
        members.flatMap(({ id }) => (id === key ? [] : [[id, key] as const])),
      ),
    ),
    ...entries.flatMap(([key, entry]) => problemsOfList(world, key, entry)),
    ...[...contents.open.keys()].map((key) => `open: ${key}`),
    ...[...contents.bodies.keys()].map((key) => `a record is kept: ${key}`),
  ];
}

/** What an earlier mapping masked and no row has brought again may be missing: a pseudonym is nobody's own id. */
function isPseudonym({ studentId }: AbsentEntry): boolean {
  return studentBehind(studentId) !== studentId;
}

function endsFirstLoad({ collection, complete, mode }: Progress): boolean {
  return collection === 'absence-changes' && complete && mode === 'FULL';
}

/** An absence of a sound chain has versions of that chain only. */
function problemsOfList({ hub }: MirroredAbsences, key: string, { members }: AbsenceEntry): string[] {
  const chain = hub.chainOf(key);
  if (chain === undefined || chain.isTainted) return [];
  const strange = members.flatMap(({ id }) => (chain.versions.includes(id) ? [] : [id]));
  return strange.length === 0 ? [] : [`${key} has ${strange.join(' ')}, of another chain`];
}

function compare(
  area: string,
  found: readonly (readonly [string, string])[],
  wanted: readonly (readonly [string, string])[],
): string[] {
  const [left, right] = [new Map(found), new Map(wanted)];
  const problems: string[] = [];
  for (const key of new Set([...left.keys(), ...right.keys()])) {
    const [one, other] = [left.get(key) ?? 'nothing', right.get(key) ?? 'nothing'];
    if (one !== other) problems.push(`${area} ${key}: ${one}, in the topics ${other}`);
  }
  return problems;
}
