import { once } from 'node:events';
import { connect } from 'node:net';

const ALTER_CLIENT_QUOTAS = 49;

/** Limits what clients with that id may produce, bytes a second (KIP-546); kafkajs has no such request. */
export async function limitProducers(
  broker: string,
  { clientId, bytesPerSecond }: { readonly clientId: string; readonly bytesPerSecond: number },
): Promise<void> {
  const rate = Buffer.alloc(8);
  rate.writeDoubleBE(bytesPerSecond);
  const entry = [int32(1), text('client-id'), text(clientId), int32(1), text('producer_byte_rate'), rate];
  const head = [int16(ALTER_CLIENT_QUOTAS), int16(0), int32(1), text('test')];
  // not to be removed, and not only to be validated
  const request = Buffer.concat([...head, int32(1), ...entry, Buffer.from([0]), Buffer.from([0])]);
  const [host = '', port] = broker.split(':');
  const socket = connect(Number(port), host);
  try {
    socket.write(Buffer.concat([int32(request.length), request]));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    // length, correlation id, throttle time, number of entries, then the error of the first one
    const code = answer.readInt16BE(16);
    if (code !== 0) throw new Error(`the broker refused the quota: ${code}`);
  } finally {
    socket.destroy();
  }
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([int16(value.length), Buffer.from(value)]);
}
