/** Findings of a collection's syncs about the hub, for later syncs of the same session. */
export class HubFindings {
  #skewMs: number | null = null;
  #isInconclusive = false;

  /** The hub's clock minus ours at the last sync; null before the first. */
  get skewMs(): number | null {
    return this.#skewMs;
  }

  /** Whether the last full sync was inconclusive: until one is not, changes are published, but the watermark stays. */
  get isInconclusive(): boolean {
    return this.#isInconclusive;
  }

  /** Converts a time of the local clock to the hub's clock. */
  hubTimeMs(ownTimeMs: number): number {
    return ownTimeMs + (this.#skewMs ?? 0);
  }

  noteSkew(skewMs: number | null): void {
    this.#skewMs = skewMs;
  }

  noteFullSync({ isInconclusive }: { isInconclusive: boolean }): void {
    this.#isInconclusive = isInconclusive;
  }
}
