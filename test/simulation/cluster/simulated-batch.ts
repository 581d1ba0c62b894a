import type { OutgoingRecord } from '../../../src/log/log.ts';
import type { BatchOwner } from '../../../src/log/record-batch.ts';

/** What a sealed batch holds. */
export interface SealedContent {
  readonly owner: BatchOwner;
  readonly records: readonly OutgoingRecord[];
}

/** By the bytes that stand for it: to encode and decode records would take most of the time of a history. */
const contents = new WeakMap<Buffer, SealedContent>();

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
    const bytes = Buffer.alloc(0);
    contents.set(bytes, { owner, records: this.#records });
    return bytes;
  }
}

export function contentOf(bytes: Buffer): SealedContent {
  const content = contents.get(bytes);
  if (content === undefined) throw new Error('no batch was sealed as these bytes');
  return content;
}
