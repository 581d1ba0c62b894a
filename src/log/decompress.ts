import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import lz4 from 'lz4js';
import snappy from 'snappyjs';
import { RollcallError } from '../errors.ts';

/** Bound of a batch's records: the longest request that a broker takes by default (`socket.request.max.bytes`). */
export const MAX_DECOMPRESSED_BYTES = 104_857_600;
const AT_MOST = { maxOutputLength: MAX_DECOMPRESSED_BYTES };
/** Before the blocks of snappy-java's framing: its magic bytes, and two versions. */
const SNAPPY_HEAD_BYTES = 16;

type Decompress = (bytes: Buffer) => Promise<Uint8Array> | Uint8Array;

const inflateGzip = promisify(gunzip);
const inflateZstd = promisify(zstdDecompress);

/** By the number in a batch's attributes, less one (KIP-98, KIP-110). */
const CODECS: readonly Decompress[] = [
  (bytes) => inflateGzip(bytes, AT_MOST),
  inflateSnappy,
  inflateLz4,
  (bytes) => inflateZstd(bytes, AT_MOST),
];

/** Decompresses the records of a batch: brokers compress those of a topic with `compression.type`. Throws `KAFKA_REFUSED`. */
export async function decompress(codec: number, bytes: Buffer): Promise<Buffer> {
  try {
    const { buffer, byteOffset, byteLength } = await CODECS[codec - 1]!(bytes);
    return Buffer.from(buffer, byteOffset, byteLength);
  } catch (error) {
    throw new RollcallError(
      'KAFKA_REFUSED',
      `Records are damaged, or longer than ${MAX_DECOMPRESSED_BYTES} bytes when they are decompressed`,
      {
        remedy:
          'Rollcall writes no such batch. Find out with kafka-dump-log which topic has it, and who else may write there; then stop the process and begin the topic anew with "rollcall topics recreate".',
        cause: error,
      },
    );
  }
}

/** Blocks as snappy-java frames them, each after its length. */
function inflateSnappy(bytes: Buffer): Buffer {
  const blocks: Buffer[] = [];
  let left = MAX_DECOMPRESSED_BYTES;
  for (let at = SNAPPY_HEAD_BYTES; at < bytes.length;) {
    const start = at + 4;
    at = start + bytes.readInt32BE(at);
    const block = snappy.uncompress(bytes.subarray(start, at), left);
    left -= block.length;
    blocks.push(block);
  }
  return Buffer.concat(blocks);
}

function inflateLz4(bytes: Buffer): Uint8Array {
  // The types of the library give no result.
  const bound = Number(lz4.decompressBound(bytes));
  if (!(bound <= MAX_DECOMPRESSED_BYTES)) throw new Error('a batch above the bound');
  return lz4.decompress(bytes, bound);
}
