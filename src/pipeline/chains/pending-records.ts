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
    if (this.#bodies.get(versionId) === body) return;
    this.drop(versionId);
    if (this.#bytes + body.length > MAX_BYTES) return;
    this.#bodies.set(versionId, copyOf(body));
    this.#bytes += body.length;
  }

  has(versionId: string): boolean {
    return this.#bodies.has(versionId);
  }

  clear(): void {
    this.#bodies.clear();
    this.#bytes = 0;
  }

  drop(versionId: string): void {
    const body = this.#bodies.get(versionId);
    if (body === undefined) return;
    this.#bodies.delete(versionId);
    this.#bytes -= body.length;
  }
}

/** A small Buffer is a part of a larger one, and keeps the other records in that from being collected. */
function copyOf(body: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(body.length);
  body.copy(copy);
  return copy;
}
