import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { KAFKA_API, startProxy, type Proxy, type Trouble } from './proxy.ts';

const LOOK_AFTER_MS = 200;
const SLOW_MS = 2_000;

/** What the server received; it answers each chunk with itself. */
let received: string;
let proxy: Proxy;
let all: AsyncDisposableStack;

beforeEach(async () => {
  received = '';
  all = new AsyncDisposableStack();
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      socket.write(chunk);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  all.defer(() => void server.close());
  proxy = all.use(
    await startProxy(`127.0.0.1:${(server.address() as AddressInfo).port}`, { speaksKafka: false }),
  );
});
afterEach(() => all.disposeAsync());

/** A connection, and what became of it. */
function open(to = proxy): { socket: Socket; heard: () => string } {
  let heard = '';
  const socket = connect(Number(new URL(`tcp://${to.address}`).port), '127.0.0.1');
  socket.on('data', (chunk) => (heard += chunk.toString('latin1')));
  socket.on('error', (error: NodeJS.ErrnoException) => (heard += `!${error.code}`));
  all.defer(() => void socket.destroy());
  return { socket, heard: () => heard };
}

it.each<[Trouble, Record<'old' | 'new' | 'oldMended', string>]>([
  ['cut', { old: 'a!ECONNRESET', new: '!ECONNRESET', oldMended: 'a!ECONNRESET' }],
  ['stall', { old: 'a', new: '', oldMended: 'ab' }],
  ['slow', { old: 'a', new: '', oldMended: 'ab' }],
  ['half-open', { old: 'a', new: 'c', oldMended: 'a' }],
  ['reset', { old: 'a!ECONNRESET', new: 'c', oldMended: 'a!ECONNRESET' }],
])(
  '%s does to the present connection and to a new one what it says, until it is mended',
  async (trouble, what) => {
    const before = open();
    before.socket.write('a');
    await vi.waitFor(() => expect(before.heard()).toBe('a'));
    proxy.begin(trouble, SLOW_MS);
    before.socket.write('b');
    const meanwhile = open();
    meanwhile.socket.write('c');
    await delay(LOOK_AFTER_MS);
    await vi.waitFor(() => expect([before.heard(), meanwhile.heard()]).toEqual([what.old, what.new]));
    proxy.mend();
    const after = open();
    after.socket.write('d');
    await vi.waitFor(() => expect([before.heard(), after.heard()]).toEqual([what.oldMended, 'd']));
    if (trouble !== 'cut') await vi.waitFor(() => expect(meanwhile.heard()).toBe('c'));
  },
);

/** A request: length, API key, version, correlation id, body. */
function frame(api: keyof typeof KAFKA_API, correlationId: number): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(12), Buffer.from('body')]);
  bytes.writeInt32BE(12, 0);
  bytes.writeInt16BE(KAFKA_API[api], 4);
  bytes.writeInt32BE(correlationId, 8);
  return bytes;
}

it('acts when a request to Kafka comes, or its answer, in whatever pieces, and passes it on only then', async () => {
  await using kafka = await startProxy(proxy.address, { speaksKafka: true });
  const { socket, heard } = open(kafka);
  // An echoed request looks like an answer whose correlation id is what a request has in its fifth to eighth byte.
  const [produce, endTxn] = [frame('produce', 0), frame('endTxn', 7)].map((bytes) =>
    bytes.toString('latin1'),
  );
  const seen: string[][] = [];
  const [sent, answered] = [
    kafka.at('endTxn', 'sent', () => seen.push([received, heard()])),
    kafka.at('produce', 'answered', () => seen.push([received, heard()])),
  ];
  for (const byte of frame('produce', 0)) socket.write(Buffer.from([byte]));
  await answered;
  expect(seen).toEqual([[produce, '']]);
  await vi.waitFor(() => expect(heard()).toBe(produce));
  socket.write(frame('endTxn', 7));
  await sent;
  expect(seen.at(-1)).toEqual([produce, produce]);
  await vi.waitFor(() => expect(heard()).toBe(`${produce}${endTxn}`));
});
