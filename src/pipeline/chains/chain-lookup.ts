import type { ChainInput } from '../../core/chains/cluster.ts';
import { decodeVersionEntry } from '../../core/chains/entry-codec.ts';
import type { AbsenceEntry, VersionEntry } from '../../core/chains/chain-state.ts';
import { missing } from '../../core/chains/missing.ts';
import { decodePublishedAbsence } from '../../core/chains/published-absence.ts';
import type { IndexArea } from '../../state/index-store.ts';

/** Reads values of the chain index, in the order of the keys. */
export type LookUp = (area: IndexArea, keys: readonly string[]) => Promise<readonly (Buffer | null)[]>;

/** Index entries of some chains; grows until `missing` asks for nothing more. */
export class KnownChains {
  readonly versions = new Map<string, VersionEntry | null>();
  readonly absences = new Map<string, AbsenceEntry | null>();
  /** Content hashes of records in `absences`, by absence id. */
  readonly shown = new Map<string, Buffer | null>();
  readonly #lookUp: LookUp;

  constructor(lookUp: LookUp) {
    this.#lookUp = lookUp;
  }

  /** Looks up all entries that the input depends on. Returns the ids that only the hub can resolve. */
  async complete(input: Omit<ChainInput, 'chainState'>): Promise<readonly string[]> {
    for (;;) {
      const wanted = missing({ ...input, chainState: this });
      if (wanted.versions.length === 0 && wanted.absences.length === 0) return wanted.hub;
      if (wanted.versions.length > 0) await this.#addVersions(wanted.versions);
      if (wanted.absences.length > 0) await this.#addAbsences(wanted.absences);
    }
  }

  async #addVersions(ids: readonly string[]): Promise<void> {
    const found = await this.#lookUp('versions', ids);
    for (const [at, id] of ids.entries()) {
      const bytes = found[at] ?? null;
      this.versions.set(id, bytes === null ? null : decodeVersionEntry(id, bytes));
    }
  }

  async #addAbsences(ids: readonly string[]): Promise<void> {
    const found = await this.#lookUp('absences', ids);
    for (const [at, id] of ids.entries()) {
      const { entry, shown } = decodePublishedAbsence(id, found[at] ?? null);
      this.absences.set(id, entry);
      this.shown.set(id, shown);
    }
  }
}
