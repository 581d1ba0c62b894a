import { createRequire } from 'node:module';

interface DecodedRecord {
  readonly offset: string;
  readonly isControlRecord: boolean;
}

interface DecodedBatch {
  readonly firstOffset: string;
  readonly lastOffsetDelta: number;
  readonly maxTimestamp: string;
  readonly records: readonly DecodedRecord[];
}

type DecodeBatch = (decoder: unknown) => Promise<DecodedBatch>;

const DECODER = 'kafkajs/src/protocol/recordBatch/v0/decoder';
const patched = new WeakSet<DecodeBatch>();

/**
 * Lets kafkajs 2.2.4 read past batches that compaction has emptied.
 *
 * The cleaner keeps the last batch of each producer even if none of its records remains (KIP-98, "Log Compaction for
 * Transactional Topics"). kafkajs ignores such a batch; if a segment contains nothing else, kafkajs fetches the same
 * offset without end. This patch adds a control record to each batch without a record at its last offset: no consumer
 * receives it, and the position advances. Call this before the first fetch.
 */
export function passEmptiedBatches(): void {
  const require = createRequire(import.meta.url);
  const decode = require(DECODER) as DecodeBatch;
  const loaded = require.cache[require.resolve(DECODER)];
  if (patched.has(decode) || loaded === undefined) return;
  const decodeWithEnd: DecodeBatch = async (decoder) => withEnd(await decode(decoder));
  patched.add(decodeWithEnd);
  loaded.exports = decodeWithEnd;
}

function withEnd(batch: DecodedBatch): DecodedBatch {
  const lastOffset = String(BigInt(batch.firstOffset) + BigInt(batch.lastOffsetDelta));
  const { records, ...batchContext } = batch;
  if (records.at(-1)?.offset === lastOffset) return batch;
  const end = {
    magicByte: 2,
    attributes: 0,
    timestamp: batch.maxTimestamp,
    offset: lastOffset,
    key: null,
    value: null,
    headers: {},
    isControlRecord: true,
    batchContext,
  };
  return { ...batch, records: [...records, end] };
}
