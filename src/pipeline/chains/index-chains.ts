import type { AbsenceEntry, VersionEntry } from '../../core/chains/chain-state.ts';
import { encodeVersionEntry } from '../../core/chains/entry-codec.ts';
import { isLoneVersion } from '../../core/chains/lone-version.ts';
import { encodePublishedAbsence, type PublishedAbsence } from '../../core/chains/published-absence.ts';
import type { IndexArea, IndexChange } from '../../state/index-store.ts';
import { encodeDay } from './ended-day.ts';
import type { Resolved } from './resolve-task.ts';

interface IndexedChains {
  readonly resolved: Resolved;
  /** Versions of chains that were pending. */
  readonly revisit: readonly string[];
  /** Content hashes of the records that `absences` gets, by absence id; null for those that it loses. */
  readonly shown: ReadonlyMap<string, Buffer | null>;
  /** See `ended-day.ts`. */
  readonly today: number;
}

const EMPTY = Buffer.alloc(0);

/** The changes of the chain index that follow from a resolution; those of `absent` and `contradictions` are left out. */
export function indexChains(chains: IndexedChains): readonly IndexChange[] {
  const draft = new IndexDraft(chains);
  draft.noteVersions();
  draft.noteAbsences();
  return draft.changes();
}

class IndexDraft {
  readonly #chains: IndexedChains;
  readonly #changes: IndexChange[] = [];
  /** New entries; null for entries that are removed. */
  readonly #versions = new Map<string, VersionEntry | null>();
  readonly #absences = new Map<string, PublishedAbsence | null>();

  constructor(chains: IndexedChains) {
    this.#chains = chains;
  }

  noteVersions(): void {
    const { known, resolution } = this.#chains.resolved;
    const dropped = this.#droppedVersions();
    for (const [id, entry] of resolution.versions) {
      if (dropped.has(id)) continue;
      this.#versions.set(id, entry);
      const isOpen = isPending(entry);
      if (isOpen || isPending(known.versions.get(id) ?? null))
        this.#change('open', id, isOpen ? EMPTY : null);
    }
    for (const id of dropped) {
      this.#versions.set(id, null);
      if (isPending(known.versions.get(id) ?? null)) this.#change('open', id, null);
    }
    for (const id of this.#chains.revisit)
      if (!isPending(this.#versionAfter(id))) this.#change('open', id, null);
  }

  noteAbsences(): void {
    const { shown, today } = this.#chains;
    const { known, resolution } = this.#chains.resolved;
    const gone = new Set(resolution.vanished);
    const published = new Set(resolution.steps.map(({ absenceId }) => absenceId));
    const entryOf = (id: string): AbsenceEntry | null =>
      resolution.absences.get(id) ?? known.absences.get(id) ?? null;
    for (const id of new Set([...resolution.absences.keys(), ...shown.keys(), ...gone])) {
      const wasDeleted = known.absences.get(id)?.isPublishedAsDeleted === true;
      if (gone.has(id)) {
        this.#absences.set(id, null);
        if (wasDeleted) this.#change('ended', id, null);
        continue;
      }
      const entry = entryOf(id);
      const hash = shown.get(id) ?? (shown.has(id) ? null : (known.shown.get(id) ?? null));
      this.#absences.set(id, { entry, shown: hash });
      const isEnded = entry?.isPublishedAsDeleted === true;
      if (isEnded && (!wasDeleted || published.has(id))) this.#change('ended', id, encodeDay(today));
      if (!isEnded && wasDeleted) this.#change('ended', id, null);
    }
  }

  /** All changes. An absence that stands for its version gets and loses this together with the version's own entry. */
  changes(): readonly IndexChange[] {
    const { known } = this.#chains.resolved;
    for (const id of new Set([...this.#versions.keys(), ...this.#absences.keys()])) {
      const before = known.versions.get(id) ?? null;
      const wasLone = known.withLoneVersion.has(id);
      const version = this.#versions.has(id) ? (this.#versions.get(id) ?? null) : before;
      const absence = this.#absences.has(id) ? (this.#absences.get(id) ?? null) : this.#absenceBefore(id);
      if (absence !== null && isLoneVersion(id, version, absence.entry)) {
        if (before !== null && !wasLone) this.#change('versions', id, null);
        if (this.#absences.has(id) || !wasLone)
          this.#change('absences', id, encodePublishedAbsence(id, absence, true));
        continue;
      }
      if (this.#versions.has(id) || wasLone)
        this.#change('versions', id, version === null ? null : encodeVersionEntry(id, version));
      if (this.#absences.has(id) || wasLone)
        this.#change('absences', id, absence === null ? null : encodePublishedAbsence(id, absence));
    }
    return this.#changes;
  }

  #absenceBefore(id: string): PublishedAbsence {
    const { known } = this.#chains.resolved;
    return { entry: known.absences.get(id) ?? null, shown: known.shown.get(id) ?? null };
  }

  #versionAfter(id: string): VersionEntry | null {
    const { known, resolution } = this.#chains.resolved;
    const after = resolution.versions.get(id);
    return after === undefined ? (known.versions.get(id) ?? null) : after;
  }

  /** Entries of chains that left the hub and that nothing refers to any more. */
  #droppedVersions(): ReadonlySet<string> {
    const { known, resolution } = this.#chains.resolved;
    const dropped = new Set<string>();
    const left = new Set(resolution.vanished);
    for (const id of known.versions.keys()) {
      const entry = this.#versionAfter(id);
      if (entry?.state !== 'vanished' || !entry.isResolved) continue;
      const absence = entry.absenceId;
      const isPublished =
        absence !== null && (known.absences.get(absence) ?? null) !== null && !left.has(absence);
      const neighbours = [entry.replaces, entry.replacedBy, ...entry.linkedFrom];
      const isLinked = neighbours.some(
        (other) => other !== null && this.#versionAfter(other)?.state === 'present',
      );
      if (!isPublished && !isLinked) dropped.add(id);
    }
    if (dropped.size === 0) return dropped;
    for (const id of known.versions.keys()) {
      const entry = this.#versionAfter(id);
      if (entry === null || (entry.state !== 'gone' && entry.state !== 'unresolved')) continue;
      if (entry.linkedFrom.length > 0 && entry.linkedFrom.every((from) => dropped.has(from))) dropped.add(id);
    }
    return dropped;
  }

  #change(area: IndexArea, key: string, value: Buffer | null): void {
    this.#changes.push({ area, key, value });
  }
}

/** Whether the version's chain is pending. */
function isPending(entry: VersionEntry | null): boolean {
  return entry !== null && !entry.isResolved && (entry.state === 'present' || entry.state === 'vanished');
}
