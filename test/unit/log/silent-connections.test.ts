import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Kafka, logLevel } from 'kafkajs';
import { expect, it, vi } from 'vitest';
import { patchKafkaJs } from '../../../src/log/kafkajs-patches.ts';

patchKafkaJs();
patchKafkaJs();

const REQUEST_TIMEOUT_MS = 200;

it('a connection that does not answer is closed after one request', async () => {
  const connections: Socket[] = [];
  const requests: Buffer[] = [];
  const server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (request) => requests.push(request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const kafka = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: REQUEST_TIMEOUT_MS,
    enforceRequestTimeout: true,
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 5, retries: 12 },
  });
  const admin = kafka.admin();
  try {
    await expect(admin.connect()).rejects.toMatchObject({ name: 'KafkaJSRequestTimeoutError' });
    expect(requests).toHaveLength(1);
    await vi.waitFor(() => expect(connections.map(({ destroyed }) => destroyed)).toEqual([true]));
  } finally {
    await admin.disconnect();
    for (const socket of connections) socket.destroy();
    server.close();
  }
});
