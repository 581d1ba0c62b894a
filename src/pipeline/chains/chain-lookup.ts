import type { ChainInput } from '../../core/chains/cluster.ts';
import { decodeVersionEntry } from '../../core/chains/entry-codec.ts';
import type { AbsenceEntry, VersionEntry } from '../../core/chains/chain-state.ts';
import { loneVersionOf } from '../../core/chains/lone-version.ts';
import { missing, type MissingChainState } from '../../core/chains/missing.ts';
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
  /** Absences whose entries stand for the versions with their ids; see `core/chains/lone-version.ts`. */
  readonly withLoneVersion = new Set<string>();
  readonly #lookUp: LookUp;

  constructor(lookUp: LookUp) {
    this.#lookUp = lookUp;
  }

  /** Looks up all entries that the input depends on. Returns the ids that only the hub can resolve. */
  async complete(input: Omit<ChainInput, 'chainState'>): Promise<readonly string[]> {
    for (;;) {
      const wanted = missing({ ...input, chainState: this });
      if (wanted.versions.length === 0 && wanted.absences.length === 0) return wanted.hub;
      await this.#add(wanted);
    }
  }

  /** `missing` asks for the absence with a version's id no later than for the version. */
  async #add(wanted: Pick<MissingChainState, 'versions' | 'absences'>): Promise<void> {
    const [versions, absences] = await Promise.all([
      wanted.versions.length === 0 ? [] : this.#lookUp('versions', wanted.versions),
      wanted.absences.length === 0 ? [] : this.#lookUp('absences', wanted.absences),
    ]);
    for (const [at, id] of wanted.absences.entries()) {
      const { entry, shown, hasLoneVersion } = decodePublishedAbsence(id, absences[at] ?? null);
      this.absences.set(id, entry);
      this.shown.set(id, shown);
      if (hasLoneVersion) this.withLoneVersion.add(id);
    }
    for (const [at, id] of wanted.versions.entries()) {
      const bytes = versions[at] ?? null;
      this.versions.set(id, bytes === null ? this.#loneVersion(id) : decodeVersionEntry(id, bytes));
    }
  }

  #loneVersion(id: string): VersionEntry | null {
    const absence = this.absences.get(id) ?? null;
    return absence !== null && this.withLoneVersion.has(id) ? loneVersionOf(id, absence) : null;
  }
}
