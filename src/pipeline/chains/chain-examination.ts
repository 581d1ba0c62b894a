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
/** A hash that no row has. */
export const UNKNOWN_CONTENT = Buffer.alloc(16);

/** Finds chains that the log leaves unpublished or shows wrongly, and leaves them pending (rule 15 in resolve.ts). */
export class ChainExamination {
  readonly #parts: ChainExaminationParts;
  readonly #entries: ImportedEntries;

  constructor(parts: ChainExaminationParts) {
    this.#parts = parts;
    this.#entries = new ImportedEntries(parts.replay);
  }

  /**
   * A version belongs to the living absence whose last event names it: an older event of another absence may have
   * been read after that, from another partition. An absence whose last event is its deletion keeps the version where no other has it.
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
   * A version that the last event of an absence names, and that the log does not hold, is taken to be at the hub, with a
   * content that nobody knows: the log may have lost it. A full sync finds it, or misses it like any row (invariant 3).
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
      // Unresolved: the log holds its removal.
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

  /** What has left, and neither an absence nor a chain at the hub needs any more: it may be what holds one together. */
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
    // Steps of published absences that the log does not have yet, whatever the reason.
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

  /** Of what is said to have replaced versions: what the hub has, though it could not be read. */
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

  /** Leaves pending what is published wrongly. */
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
      const isAsTold = entry.isPublishedAsDeleted
        ? shown === null
        : version.state === 'present' &&
          shown !== null &&
          hash !== null &&
          (shown.equals(hash) || hash.equals(UNKNOWN_CONTENT));
      if (
        isAsTold &&
        !entry.isPublishedAsDeleted &&
        version.student !== 0 &&
        version.student !== entry.student
      ) {
        // The hub has given the record to another student since its event.
        const value = encodePublishedAbsence(id, { entry: { ...entry, student: version.student }, shown });
        changes.push({ area: 'absences', key: id, value });
      }
      if (isAsTold || entry.mergedInto !== null) continue;
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
  // Other names may ask for more.
  if (named.size > 0) await known.complete({ rows: [], revisit });
  return [...named].map(([key, entry]) => ({
    area: 'versions',
    key,
    value: encodeVersionEntry(key, entry),
  }));
}

/** A chain that was published and forgotten is not examined again. */
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
