const MAX_BYTES = 64_000_000;

/**
 * Keeps the records of pending chains, so that a first load does not have to read them back from the log. The memory is
 * bounded: records that do not fit are read back at the end of the sync.
 */
export class PendingRecords {
  readonly #bodies = new Map<string, Buffer>();
  #bytes = 0;

  /** Avro body of `absence-versions`. */
  get(versionId: string): Buffer | undefined {
    return this.#bodies.get(versionId);
  }

  keep(versionId: string, body: Buffer): void {
    this.drop(versionId);
    if (this.#bytes + body.length > MAX_BYTES) return;
    this.#bodies.set(versionId, body);
    this.#bytes += body.length;
  }

  drop(versionId: string): void {
    const body = this.#bodies.get(versionId);
    if (body === undefined) return;
    this.#bodies.delete(versionId);
    this.#bytes -= body.length;
  }
}
