import type { AbsenceVersionValue } from '../../core/chains/chain-row.ts';

/**
 * Avro bodies of version records. A version is in up to three records of a transaction (its own, the absence that shows
 * it, and its event), and is encoded once for all of them. An object stands for its body, so nobody changes a record.
 */
export class VersionBodies {
  readonly #encode: (value: AbsenceVersionValue) => Buffer;
  readonly #made: ReadonlyMap<object, Buffer>;
  readonly #bodies = new Map<object, Buffer>();

  /** `made`: bodies that the transaction already holds. */
  constructor(encode: (value: AbsenceVersionValue) => Buffer, made: ReadonlyMap<object, Buffer>) {
    this.#encode = encode;
    this.#made = made;
  }

  note(value: AbsenceVersionValue, body: Buffer): void {
    this.#bodies.set(value, body);
  }

  of(value: AbsenceVersionValue): Buffer {
    const known = this.#made.get(value) ?? this.#bodies.get(value);
    if (known !== undefined) return known;
    const body = this.#encode(value);
    this.#bodies.set(value, body);
    return body;
  }
}
