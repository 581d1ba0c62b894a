import type { CollectionIndex } from '../state/index-store.ts';

/** The known rows that the configuration no longer wants, such as those of an afterschool that it does not name. */
export class UnwantedRows {
  /** Whether the configuration still wants a key. No sync reads an unwanted row, and that is no loss. */
  readonly isWanted: (key: string) => boolean;
  readonly #canBe: boolean;
  #counted: number | null = null;

  /** `isWanted` undefined: the configuration wants every key. */
  constructor(isWanted: ((key: string) => boolean) | undefined) {
    this.#canBe = isWanted !== undefined;
    this.isWanted = isWanted ?? (() => true);
  }

  /** Their number: 0 until {@link countIn} has counted them. */
  get known(): number {
    return this.#counted ?? 0;
  }

  /** The first call reads all keys of the index, which must not change meanwhile. */
  async countIn(index: Pick<CollectionIndex, 'keys'>): Promise<void> {
    if (!this.#canBe || this.#counted !== null) return;
    const found = new Set<string>();
    for await (const batch of index.keys('rows')) {
      for (const key of batch) if (!this.isWanted(key)) found.add(key);
    }
    this.#counted = found.size;
  }

  /** A row was removed. */
  noteRemoved(key: string): void {
    if (this.#counted !== null && !this.isWanted(key)) this.#counted -= 1;
  }

  /** The index was rebuilt. */
  forget(): void {
    this.#counted = null;
  }
}
