import { decodeVersionEntry } from '../../core/chains/entry-codec.ts';
import type { VersionEntry } from '../../core/chains/chain-state.ts';
import { decodePublishedAbsence, type PublishedAbsence } from '../../core/chains/published-absence.ts';
import type { IndexReplay } from '../../state/index-store.ts';

/** Reads chain entries of an index that is being rebuilt. */
export class ImportedEntries {
  readonly #replay: Pick<IndexReplay, 'lookup'>;

  constructor(replay: Pick<IndexReplay, 'lookup'>) {
    this.#replay = replay;
  }

  /** Entries of versions, of the versions that they refer to, and of those that they referred to before. */
  async linked(ids: readonly string[], links: readonly string[]): Promise<Map<string, VersionEntry | null>> {
    const entries = await this.of([...ids, ...links]);
    const former = ids.flatMap((id) => {
      const { replaces = null, replacedBy = null } = entries.get(id) ?? {};
      return [replaces, replacedBy].filter((other) => other !== null && !entries.has(other)).map(String);
    });
    return new Map([...entries, ...(await this.of(former))]);
  }

  async of(ids: readonly string[]): Promise<Map<string, VersionEntry | null>> {
    const wanted = [...new Set(ids)];
    const found = await this.#replay.lookup('versions', wanted);
    return new Map(
      wanted.map((id, at) => {
        const bytes = found[at] ?? null;
        return [id, bytes === null ? null : decodeVersionEntry(id, bytes)];
      }),
    );
  }

  async published(absenceIds: readonly string[]): Promise<Map<string, PublishedAbsence>> {
    const found = await this.#replay.lookup('absences', absenceIds);
    return new Map(absenceIds.map((id, at) => [id, decodePublishedAbsence(id, found[at] ?? null)]));
  }
}
