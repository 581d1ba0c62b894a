import { absentEntryOf, decodeAbsent } from '../../../src/core/chains/absent-entry.ts';
import { chainRowOf } from '../../../src/core/chains/chain-row.ts';
import { decodeVersionEntry } from '../../../src/core/chains/entry-codec.ts';
import {
  studentFingerprint,
  type AbsenceEntry,
  type ChainRow,
  type VersionEntry,
} from '../../../src/core/chains/chain-state.ts';
import { loneVersionOf } from '../../../src/core/chains/lone-version.ts';
import { decodePublishedAbsence } from '../../../src/core/chains/published-absence.ts';
import { FIRST_SEQUENCE_HEADER, MAPPING_HEADER } from '../../../src/core/cloud-events.ts';
import { areasOf } from '../../../src/state/index-store.ts';
import type { SimulatedIndex } from '../parts/simulated-index.ts';
import type { ChainWorld } from './chain-history.ts';
import { idsBesideLeft } from './row-groups.ts';
import { viewOf, type LoggedChange, type PublishedLog } from './published-log.ts';

const AREAS = areasOf('absence-versions');
const DAY_MS = 24 * 3_600_000;

/** Invariant 1: an index at the end of the log agrees with the topics, and no chain is pending. */
export function differencesFromIndex(world: ChainWorld, log: PublishedLog): string[] {
  const { hub, index, rebuilt, imported } = world;
  const besideLeft = [...idsBesideLeft(log)].filter((id) => hub.chainOf(id)?.isTainted !== false);
  const mayBeOpen = new Set([...besideLeft, ...mergedSilently(index, log), ...namedByTwo(log)]);
  return [
    ...problemsOfIndex('the index', { index, world, log, mayBeOpen: new Set() }),
    ...problemsOfIndex('the imported index', { index: imported, world, log, mayBeOpen }),
    ...AREAS.flatMap((area) =>
      compare(
        area,
        [...rebuilt.contents[area]].map(([key, value]) => [key, value.toString('hex')]),
        [...index.contents[area]].map(([key, value]) => [key, value.toString('hex')]),
      ).map((why) => `the rebuilt index is not the index: ${why}`),
    ),
  ];
}

/** Versions of absences that were published as deleted before they were merged: the topics do not show the merge. */
function mergedSilently({ contents }: SimulatedIndex, log: PublishedLog): string[] {
  const changes = viewOf(log.changes);
  return [...versionsIn(contents)].flatMap(([id, { absenceId }]) => {
    const published =
      absenceId === null ? null : decodePublishedAbsence(absenceId, contents.absences.get(absenceId) ?? null);
    const isMerged = (published?.entry?.mergedInto ?? null) !== null;
    return isMerged && changes.get(absenceId ?? '')?.value?.mergedInto === null ? [id] : [];
  });
}

/**
 * Versions of absences that named the same version, one of which has ended: partitions are read in any order, so an import
 * may give the version to the absence that named it first. Its chain is then resolved once more.
 */
function namedByTwo({ changes }: PublishedLog): string[] {
  const namers = new Map<string, Set<string>>();
  const named = new Map<string, string[]>();
  for (const { key, value } of changes) {
    if (value === null) continue;
    const id = value.version.sourcedId;
    namers.set(id, (namers.get(id) ?? new Set()).add(key));
    named.set(key, [...(named.get(key) ?? [key]), id]);
  }
  const view = viewOf(changes);
  const hasEnded = (absenceId: string): boolean => view.get(absenceId)?.value?.operation === 'DELETED';
  return [...namers.values()]
    .filter((absences) => absences.size > 1 && [...absences].some(hasEnded))
    .flatMap((absences) => [...absences].flatMap((id) => named.get(id) ?? []));
}

/** The entries of versions, with those that absences stand for. */
function versionsIn(contents: SimulatedIndex['contents']): ReadonlyMap<string, VersionEntry> {
  const versions = new Map<string, VersionEntry>();
  for (const [id, bytes] of contents.absences) {
    const { entry, hasLoneVersion } = decodePublishedAbsence(id, bytes);
    if (entry !== null && hasLoneVersion) versions.set(id, loneVersionOf(id, entry));
  }
  for (const [id, bytes] of contents.versions) versions.set(id, decodeVersionEntry(id, bytes));
  return versions;
}

interface IndexedWorld {
  readonly index: SimulatedIndex;
  readonly world: ChainWorld;
  readonly log: PublishedLog;
  /** Versions of chains of which the topics show less than is known. */
  readonly mayBeOpen: ReadonlySet<string>;
}

function problemsOfIndex(name: string, { index, world, log, mayBeOpen }: IndexedWorld): string[] {
  const { contents } = index;
  const versions = viewOf(log.versions);
  const absences = viewOf(log.absences);
  const changes = viewOf(log.changes);
  const rejects = world.topics.viewOf('rejects');
  const problems = [
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
      'absences',
      [...contents.absences].map(([key, bytes]) => {
        const { entry, shown } = decodePublishedAbsence(key, bytes);
        // An absence that was published as deleted before it was merged has no event of the merge.
        const isSilent = changes.get(key)?.value?.mergedInto === null;
        const published = entry !== null && isSilent ? { ...entry, mergedInto: null } : entry;
        return [key, `${textOf(published)} ${shown?.toString('hex') ?? 'not shown'}`];
      }),
      [...changes].map(([key, change]) => [
        key,
        `${textOf(entryOf(change))} ${absences.get(key)?.headers['content-hash'] ?? 'not shown'}`,
      ]),
    ),
    ...compare(
      'ended',
      [...contents.ended].map(([key, day]) => [key, String(day.readInt32BE())]),
      [...changes].flatMap(([key, { value }]) =>
        value?.operation === 'DELETED' ? [[key, String(Math.floor(value.detectedAt / DAY_MS))] as const] : [],
      ),
    ),
    ...compare(
      'absent',
      [...contents.absent].map(([key, bytes]) => [key, JSON.stringify(decodeAbsent(bytes))]),
      [...absences].flatMap(([key, { published }]) => {
        const entry = published === null ? null : absentEntryOf(published);
        return entry === null || entry.toMs < world.absentSinceMs()
          ? []
          : [[key, JSON.stringify(entry)] as const];
      }),
    ),
    ...compare(
      'versions at the hub',
      [...versionsIn(contents)].flatMap(([key, { state }]) =>
        state === 'present' ? [[key, 'present'] as const] : [],
      ),
      [...versions].map(([key]) => [key, 'present']),
    ),
    ...problemsOfEntries({ index, world, log, mayBeOpen }),
    // A version that has left according to the log is resolved once more after a rebuild.
    ...[...contents.open.keys()]
      .filter((key) => versions.has(key) && !mayBeOpen.has(key))
      .map((key) => `pending: ${key}`),
  ];
  return problems.map((why) => `${name}: ${why}`);
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

function entryOf({ value, headers }: LoggedChange): AbsenceEntry | null {
  if (value === null) return null;
  return {
    step: value.step,
    publishedVersionId: value.version.sourcedId,
    isPublishedAsDeleted: value.operation === 'DELETED',
    mergedInto: value.mergedInto,
    since: Number(headers[FIRST_SEQUENCE_HEADER]),
    student: 0,
  };
}

function textOf(entry: AbsenceEntry | null): string {
  if (entry === null) return 'not published';
  const { step, publishedVersionId, isPublishedAsDeleted, mergedInto, since } = entry;
  return `step ${step} ${publishedVersionId}${isPublishedAsDeleted ? ' deleted' : ''} into ${mergedInto} since ${since}`;
}

/** Checks the entries of versions at the hub; of the others the topics show less. */
function problemsOfEntries({ index, world, log, mayBeOpen }: IndexedWorld): string[] {
  const problems: string[] = [];
  const versions = viewOf(log.versions);
  const rows = [...versions.values()].flatMap(({ published }) =>
    published === null ? [] : [chainRowOf(published)],
  );
  const mapping = world.mappings.at(-1)?.reader.mapping ?? undefined;
  const linkedFrom = linksTo(rows);
  const entries = versionsIn(index.contents);
  for (const row of rows) {
    const entry = entries.get(row.id) ?? null;
    const { isDeleted, replaces, replacedBy } = row;
    // A row that could not be decoded since the mapping changed stays in the topic unchanged.
    const isOfNow = versions.get(row.id)?.headers[MAPPING_HEADER] === mapping;
    const student = isOfNow ? studentFingerprint(row.studentId) : (entry?.student ?? 0);
    const wanted = { isDeleted, replaces, replacedBy, student };
    const found = entry === null ? null : pick(entry);
    if (JSON.stringify(found) !== JSON.stringify(wanted))
      problems.push(`versions ${row.id}: ${JSON.stringify(found)}, in the topics ${JSON.stringify(wanted)}`);
    const unknown = (linkedFrom.get(row.id) ?? []).filter((id) => entry?.linkedFrom.includes(id) !== true);
    if (unknown.length > 0) problems.push(`versions ${row.id}: knows nothing of ${unknown.join(' ')}`);
    if (entry?.isResolved === false && !mayBeOpen.has(row.id)) problems.push(`unresolved: ${row.id}`);
    problems.push(...problemsOfName(world, { id: row.id, absenceId: entry?.absenceId ?? null }));
  }
  return problems;
}

function pick({ isDeleted, replaces, replacedBy, student }: VersionEntry): object {
  return { isDeleted, replaces, replacedBy, student };
}

/** By id: versions that refer to that id although its version does not refer to them. */
function linksTo(rows: readonly ChainRow[]): ReadonlyMap<string, readonly string[]> {
  const links = new Map<string, string[]>();
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const { id, replaces, replacedBy } of rows) {
    for (const to of new Set([replaces, replacedBy])) {
      const other = byId.get(to ?? '');
      if (other === undefined || other.id === id) continue;
      if (other.replaces === id || other.replacedBy === id) continue;
      links.set(other.id, [...(links.get(other.id) ?? []), id]);
    }
  }
  return links;
}

/** A version of a sound chain belongs to the absence that the chain was published as, if to any. */
function problemsOfName({ hub }: ChainWorld, version: { id: string; absenceId: string | null }): string[] {
  const { id, absenceId } = version;
  const chain = hub.chainOf(id);
  if (absenceId === null || chain === undefined || chain.isTainted) return [];
  return chain.versions.includes(absenceId) ? [] : [`${id} belongs to ${absenceId}, of another chain`];
}
