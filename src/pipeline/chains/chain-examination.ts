import { decodeVersionEntry, encodeVersionEntry } from '../../core/chains/entry-codec.ts';
import { examine, ofChainsAtHub } from '../../core/chains/examine.ts';
import type { VersionEntry } from '../../core/chains/chain-state.ts';
import { resolve } from '../../core/chains/chain-rules.ts';
import { publishedNames } from '../../core/chains/published-names.ts';
import {
  decodePublishedAbsence,
  encodePublishedAbsence,
  type PublishedAbsence,
} from '../../core/chains/published-absence.ts';
import type { IndexChange, IndexEntry, IndexReplay } from '../../state/index-store.ts';
import { KnownChains } from './chain-lookup.ts';
import { contradictionChanges } from './contradiction-changes.ts';
import { ImportedEntries } from './imported-entries.ts';

export interface ChainExaminationParts {
  readonly replay: Pick<IndexReplay, 'lookup' | 'entries' | 'write'>;
  /** Whether every chain was published at least once: an ended chain without an event is then a forgotten one. */
  readonly wasComplete: boolean;
}

const EMPTY = Buffer.alloc(0);
const EXAMINE_AT_ONCE = 1_000;
/** A content hash that no row has. */
export const UNKNOWN_CONTENT = Buffer.alloc(16);

/** Finds chains that the log does not show, or shows wrongly, and leaves them pending (rule 15 in chain-rules.ts). */
export class ChainExamination {
  readonly #parts: ChainExaminationParts;
  readonly #entries: ImportedEntries;

  constructor(parts: ChainExaminationParts) {
    this.#parts = parts;
    this.#entries = new ImportedEntries(parts.replay);
  }

  /**
   * Assigns a version to the live absence whose last event names it. (The import may have read an older event of
   * another absence later, from another partition.) A deleted absence whose last event names the version gets it only
   * if no other has it.
   */
  async nameByPublished(published: ReadonlyMap<string, PublishedAbsence>): Promise<void> {
    const alive = new Map<string, string>();
    const ended = new Map<string, string>();
    for (const [id, { entry }] of published) {
      if (entry === null || entry.mergedInto !== null) continue;
      (entry.isPublishedAsDeleted ? ended : alive).set(entry.publishedVersionId, id);
    }
    const changes: IndexChange[] = [];
    for (const [key, entry] of await this.#entries.of([...alive.keys(), ...ended.keys()])) {
      const absenceId = alive.get(key) ?? (entry?.absenceId === null ? ended.get(key) : undefined);
      if (entry === null || absenceId === undefined || entry.absenceId === absenceId) continue;
      if (entry.state !== 'present' && entry.state !== 'vanished') continue;
      changes.push({ area: 'versions', key, value: encodeVersionEntry(key, { ...entry, absenceId }) });
    }
    if (changes.length > 0) await this.#parts.replay.write(changes);
  }

  /**
   * Takes a version to be at the hub, with unknown content, if the last event of an absence names it and the log does
   * not hold it: the log may have lost it. A full sync finds it, or treats it like any missing row (invariant 3).
   */
  async presume(entries: readonly IndexEntry[]): Promise<void> {
    const { replay } = this.#parts;
    const published = entries.map(([id, value]) => {
      const { entry } = decodePublishedAbsence(id, value);
      return entry === null || entry.isPublishedAsDeleted ? null : entry.publishedVersionId;
    });
    const versionIds = [...new Set(published)].filter((id) => id !== null);
    const versions = await this.#entries.of(versionIds);
    const changes: IndexChange[] = [];
    for (const [id, entry] of versions) {
      // If the entry is unresolved, the log holds the version's removal.
      if (entry?.state !== 'vanished' || !entry.isResolved) continue;
      const value = encodeVersionEntry(id, { ...entry, state: 'present' });
      changes.push({ area: 'versions', key: id, value }, { area: 'rows', key: id, value: UNKNOWN_CONTENT });
    }
    if (changes.length > 0) await replay.write(changes);
  }

  async examineVersions(entries: readonly IndexEntry[]): Promise<void> {
    const ids: string[] = [];
    const changes: IndexChange[] = [];
    const versions = entries.map(([id, value]) => ({ id, entry: decodeVersionEntry(id, value) }));
    const forgotten = await this.#forgottenOf(versions);
    for (const { id, entry } of versions) {
      const { isResolved, state } = entry;
      const isForgotten = forgotten.has(id);
      if (isForgotten) changes.push({ area: 'versions', key: id, value: null });
      else if (state === 'gone' && !isResolved)
        changes.push({
          area: 'versions',
          key: id,
          value: encodeVersionEntry(id, { ...entry, isResolved: true }),
        });
      else if (state === 'vanished' && !isResolved) changes.push({ area: 'open', key: id, value: EMPTY });
      if (state === 'present' || (state === 'vanished' && !isForgotten)) ids.push(id);
    }
    if (changes.length > 0) await this.#parts.replay.write(changes);
    for (let at = 0; at < ids.length; at += EXAMINE_AT_ONCE) {
      await this.#examine(ids.slice(at, at + EXAMINE_AT_ONCE));
    }
  }

  /** Versions that left the hub and that no absence and no chain at the hub needs. Others may hold a chain together. */
  async #forgottenOf(versions: readonly { id: string; entry: VersionEntry }[]): Promise<ReadonlySet<string>> {
    const { replay } = this.#parts;
    const revisit = versions.flatMap(({ id, entry: { state, absenceId, linkedFrom } }) =>
      state !== 'present' && absenceId === null && linkedFrom.length === 0 ? [id] : [],
    );
    const known = new KnownChains((area, keys) => replay.lookup(area, keys));
    await known.complete({ rows: [], revisit });
    return new Set(revisit).difference(ofChainsAtHub({ rows: [], revisit, chainState: known }));
  }

  async #examine(revisit: readonly string[]): Promise<void> {
    const { replay, wasComplete } = this.#parts;
    const known = new KnownChains((area, keys) => replay.lookup(area, keys));
    await known.complete({ rows: [], revisit });
    const changes = await nameMembers(known, revisit);
    const unreadable = await this.#unreadable(known);
    const found = examine({ rows: [], revisit, chainState: known, unreadable });
    changes.push(...contradictionChanges(found.contradictions, { versionIds: [], reported: [] }));
    if (wasComplete) changes.push(...resolvedChanges(found.unpublishedEnded, known));
    const unpublished = wasComplete ? found.unpublished : [...found.unpublished, ...found.unpublishedEnded];
    // Leaves published absences pending whose chains lead to steps that the log does not have.
    const { steps } = resolve({ rows: [], revisit, chainState: known, mode: 'final', sequence: 0 });
    for (const { absenceId, versionId } of steps) {
      if ((known.absences.get(absenceId) ?? null) === null) continue;
      changes.push({ area: 'open', key: versionId, value: EMPTY });
    }
    for (const id of unpublished) {
      const entry = known.versions.get(id) ?? null;
      if (entry === null) continue;
      const value = encodeVersionEntry(id, { ...entry, absenceId: null, isResolved: false });
      changes.push({ area: 'versions', key: id, value }, { area: 'open', key: id, value: EMPTY });
    }
    if (changes.length > 0) await replay.write(changes);
  }

  /** Replacements that the hub has, but that could not be decoded. */
  async #unreadable(known: KnownChains): Promise<ReadonlySet<string>> {
    const replacements = new Set<string>();
    for (const entry of known.versions.values()) {
      if (entry?.state === 'present' && entry.replacedBy !== null) replacements.add(entry.replacedBy);
    }
    const ids = [...replacements].filter((id) => known.versions.get(id)?.state !== 'present');
    if (ids.length === 0) return new Set();
    const rejects = await this.#parts.replay.lookup('rejects', ids);
    return new Set(ids.filter((_id, at) => (rejects[at] ?? null) !== null));
  }

  /** Leaves absences pending whose record in `absences` does not match their last event. */
  async examineAbsences(entries: readonly IndexEntry[]): Promise<void> {
    const { replay } = this.#parts;
    const published = entries.map(([id, value]) => ({ id, ...decodePublishedAbsence(id, value) }));
    const versionIds = published.map(({ id, entry }) => entry?.publishedVersionId ?? id);
    const versions = await this.#entries.of(versionIds);
    const hashes = await replay.lookup('rows', versionIds);
    const changes: IndexChange[] = [];
    for (const [at, { id, entry, shown }] of published.entries()) {
      const versionId = versionIds[at] ?? '';
      const version = versions.get(versionId) ?? null;
      if (version === null || entry === null) continue;
      const hash = hashes[at] ?? null;
      const isPublishedRight = entry.isPublishedAsDeleted
        ? shown === null
        : version.state === 'present' &&
          shown !== null &&
          hash !== null &&
          (shown.equals(hash) || hash.equals(UNKNOWN_CONTENT));
      if (
        isPublishedRight &&
        !entry.isPublishedAsDeleted &&
        version.student !== 0 &&
        version.student !== entry.student
      ) {
        // The hub assigned the record to another student after its event.
        const value = encodePublishedAbsence(id, { entry: { ...entry, student: version.student }, shown });
        changes.push({ area: 'absences', key: id, value });
      }
      if (isPublishedRight || entry.mergedInto !== null) continue;
      const value = encodeVersionEntry(versionId, { ...version, isResolved: false });
      changes.push(
        { area: 'versions', key: versionId, value },
        { area: 'open', key: versionId, value: EMPTY },
      );
    }
    if (changes.length > 0) await replay.write(changes);
  }
}

async function nameMembers(known: KnownChains, revisit: readonly string[]): Promise<IndexChange[]> {
  const named = publishedNames({ rows: [], revisit, chainState: known });
  for (const [id, entry] of named) known.versions.set(id, entry);
  // With other absence ids, `missing` may ask for more entries.
  if (named.size > 0) await known.complete({ rows: [], revisit });
  return [...named].map(([key, entry]) => ({
    area: 'versions',
    key,
    value: encodeVersionEntry(key, entry),
  }));
}

/** Marks chains as resolved that were published and forgotten: they are not published again. */
function resolvedChanges(ids: readonly string[], known: KnownChains): IndexChange[] {
  return ids.flatMap((id): IndexChange[] => {
    const entry = known.versions.get(id) ?? null;
    if (entry === null) return [{ area: 'open', key: id, value: null }];
    const value = encodeVersionEntry(id, { ...entry, isResolved: true });
    return [
      { area: 'versions', key: id, value },
      { area: 'open', key: id, value: null },
    ];
  });
}
