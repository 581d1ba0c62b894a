import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';

const MAX_BYTES = 64_000_000;

/**
 * Keeps the records of pending chains, so that a first load does not have to read them back from the log. The memory is
 * bounded: records that do not fit are read back at the end of the sync.
 */
export class PendingRecords {
  readonly #bodies = new Map<string, Buffer>();
  readonly #encode: (value: object) => Buffer;
  readonly #decode: (body: Buffer) => AbsenceVersionValue;
  #bytes = 0;

  constructor(codec: { encode: (value: object) => Buffer; decode: (body: Buffer) => AbsenceVersionValue }) {
    this.#encode = codec.encode;
    this.#decode = codec.decode;
  }

  get(versionId: string): AbsenceVersionValue | undefined {
    const body = this.#bodies.get(versionId);
    return body === undefined ? undefined : this.#decode(body);
  }

  keep(versionId: string, value: AbsenceVersionValue): void {
    this.drop(versionId);
    const body = this.#encode(value);
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
