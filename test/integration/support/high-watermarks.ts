import { once } from 'node:events';
import { connect } from 'node:net';

const LIST_OFFSETS = 2;
const VERSION = 2;
const LATEST = -1n;
const READ_UNCOMMITTED = 0;
const ANSWER_WITHIN_MS = 5_000;

/**
 * Next offset by `<topic>/<partition>`, open transactions included: ListOffsets requests (KIP-98, version 2).
 * kafkajs always asks with read_committed, whose end lags behind while a commit's markers are being written.
 * It leaves out partitions that none of these brokers leads, and brokers that need more than plain text.
 */
export async function highWatermarks(
  brokers: readonly string[],
  partitions: readonly string[],
): Promise<Record<string, number>> {
  const answers = await Promise.allSettled(brokers.map((broker) => ask(broker, partitions)));
  return Object.assign(
    {},
    ...answers.map((each) => (each.status === 'fulfilled' ? each.value : {})),
  ) as Record<string, number>;
}

async function ask(broker: string, partitions: readonly string[]): Promise<Record<string, number>> {
  const [host = '', port = ''] = broker.split(/:(?=\d+$)/);
  const socket = connect(Number(port), host);
  socket.setTimeout(ANSWER_WITHIN_MS, () => socket.destroy(new Error('no answer')));
  try {
    await once(socket, 'connect');
    socket.write(request(partitions));
    let received = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk as Buffer]);
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) break;
    }
    return offsetsIn(received);
  } finally {
    socket.destroy();
  }
}

function request(partitions: readonly string[]): Buffer {
  const parts = [int16(LIST_OFFSETS), int16(VERSION), int32(1), text('some-consumer')];
  parts.push(int32(-1), Buffer.from([READ_UNCOMMITTED]), int32(partitions.length));
  for (const name of partitions) {
    const slash = name.lastIndexOf('/');
    parts.push(text(name.slice(0, slash)), int32(1), int32(Number(name.slice(slash + 1))), int64(LATEST));
  }
  const body = Buffer.concat(parts);
  return Buffer.concat([int32(body.length), body]);
}

/** Size, correlation id, throttle time; then topics of partitions of id, error, timestamp, offset. */
function offsetsIn(response: Buffer): Record<string, number> {
  const offsets: Record<string, number> = {};
  let at = 12;
  for (let topics = response.readInt32BE(at); topics > 0; topics -= 1) {
    const length = response.readInt16BE(at + 4);
    const topic = response.toString('utf8', at + 6, at + 6 + length);
    at += 2 + length;
    const count = response.readInt32BE(at + 4);
    at += 4;
    for (let index = 0; index < count; index += 1) {
      const isPublished = response.readInt16BE(at + 8) === 0;
      if (isPublished)
        offsets[`${topic}/${response.readInt32BE(at + 4)}`] = Number(response.readBigInt64BE(at + 18));
      at += 22;
    }
  }
  return offsets;
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function int64(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([int16(bytes.length), bytes]);
}
