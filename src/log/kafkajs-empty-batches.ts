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
 * Lets kafkajs 2.2.4 pass batches that compaction has emptied.
 *
 * The cleaner keeps the last batch of each producer even if no record of it is left (KIP-98, "Log Compaction for
 * Transactional Topics"). kafkajs takes such a batch for nothing at all, and where a segment holds nothing else it asks
 * for the same offset for ever. So each batch whose last offset has no record gets a control record there: no reader ever
 * sees it, and the position moves on. To be called before the first record is fetched.
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
