import type { OutgoingRecord } from '../../../src/log/log.ts';
import type { BatchOwner } from '../../../src/log/wire/record-batch.ts';

/** What a sealed batch holds. */
export interface SealedContent {
  readonly owner: BatchOwner;
  readonly records: readonly OutgoingRecord[];
}

/** Stand for the bytes of a batch: to encode and decode records would take most of the time of a history. */
interface SealedBytes extends Buffer {
  content?: SealedContent;
}

/** Records of one partition that a producer is to send. */
export class SimulatedBatch {
  readonly #records: readonly OutgoingRecord[];

  constructor(records: readonly OutgoingRecord[]) {
    this.#records = records;
  }

  get length(): number {
    return this.#records.length;
  }

  seal(owner: BatchOwner): Buffer {
    const bytes: SealedBytes = Buffer.alloc(0);
    bytes.content = { owner, records: this.#records };
    return bytes;
  }
}

export function contentOf({ content }: SealedBytes): SealedContent {
  if (content === undefined) throw new Error('no batch was sealed as these bytes');
  return content;
}
