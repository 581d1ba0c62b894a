import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { request, type RequestFor } from '../../../src/log/wire/kafka-broker.ts';
import { createKafkaConnections, pingKafka } from '../../../src/log/kafka-client.ts';
import type { Purpose } from '../../../src/log/wire/kafka-connections.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import { apiKeys } from './support/asked-for.ts';

/** A request that has arrived at a broker of the test. */
interface Arrived {
  readonly name: string;
  readonly body: Buffer;
  readonly answer: (body: Buffer) => void;
  readonly connection: Socket;
}

/** Versions of Kafka's requests that the broker knows. */
const VERSIONS: Readonly<Record<string, number>> = { Metadata: 1, ApiVersions: 0, EndTxn: 1 };
const OK = Buffer.alloc(6);

function text(value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeInt16BE(value.length);
  return Buffer.concat([length, Buffer.from(value)]);
}

function int32s(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, at) => bytes.writeInt32BE(value, 4 * at));
  return bytes;
}

function versions(): Buffer {
  const known = Object.entries(VERSIONS).map(([name, version]) => {
    const each = Buffer.alloc(6);
    each.writeInt16BE(apiKeys[name] ?? -1);
    each.writeInt16BE(version, 4);
    return each;
  });
  return Buffer.concat([Buffer.alloc(2), int32s(known.length), ...known]);
}

/** A broker with node id 1 that describes itself, and hands all other requests to the test. */
async function startBroker(onRequest: (arrived: Arrived) => void) {
  const connections: Socket[] = [];
  let port = 0;
  let isSilent = false;
  const arrive = (connection: Socket, bytes: Buffer): void => {
    const name = Object.entries(apiKeys).find(([, key]) => key === bytes.readInt16BE())?.[0] ?? '';
    const correlationId = bytes.subarray(4, 8);
    const body = bytes.subarray(10 + bytes.readInt16BE(8));
    const answer = (content: Buffer): void => {
      connection.write(Buffer.concat([int32s(4 + content.length), correlationId, content]));
    };
    if (isSilent) return;
    if (name === 'ApiVersions') answer(versions());
    else if (name === 'Metadata')
      answer(
        Buffer.concat([int32s(1, 1), text('127.0.0.1'), int32s(port), Buffer.from([255, 255]), int32s(1, 0)]),
      );
    else onRequest({ name, body, answer, connection });
  };
  const server = createServer((connection) => {
    connections.push(connection);
    connection.on('error', () => undefined);
    let buffered = Buffer.alloc(0);
    connection.on('data', (chunk) => {
      buffered = Buffer.concat([buffered, chunk]);
      while (buffered.length >= 4 && buffered.length >= 4 + buffered.readInt32BE()) {
        const end = 4 + buffered.readInt32BE();
        arrive(connection, buffered.subarray(4, end));
        buffered = buffered.subarray(end);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
  onTestFinished(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  return {
    address: `127.0.0.1:${port}`,
    connections,
    open: () => connections.filter(({ destroyed }) => !destroyed).length,
    fallSilent: () => (isSilent = true),
  };
}

function connectionsTo(...brokers: string[]) {
  const client = { brokers, clientId: 'test', tls: false, sasl: undefined, sessionMs: 0 };
  const kafka = createKafkaConnections(client);
  onTestFinished(() => kafka[Symbol.dispose]());
  return kafka;
}

const commitOf = (tenant: string): RequestFor =>
  request('EndTxn', { transactionalId: tenant, producerId: 1n, producerEpoch: 0, transactionResult: true });

/** The tenant whose commit it is. */
const tenantIn = ({ body }: Arrived): string => body.toString('utf8', 2, 2 + body.readInt16BE());

async function outcomeOf(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'answered',
    (error: unknown) => (error instanceof RequestFailure ? (error.type ?? error.outcome) : String(error)),
  );
}

it('a process has one connection for each purpose and broker, whatever the number of tenants', async () => {
  const broker = await startBroker(({ answer }) => answer(OK));
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  const purposes: Purpose[] = ['batches', 'membership', 'rest'];
  const asked = Array.from({ length: 90 }, (_, at) =>
    kafka.ask(1, commitOf(`t${at}`), purposes[at % purposes.length]),
  );
  await Promise.all(asked);
  expect(broker.open()).toBe(3);
});

it('each configured and each advertised address is tried, and each failure has its cause', async () => {
  const broker = await startBroker(({ answer }) => answer(OK));
  const other = broker.address.replace('127.0.0.1', 'localhost');
  const kafka = connectionsTo(other, '127.0.0.1:1');
  expect(await kafka.tryEach(['t0.progress'])).toEqual(
    new Map<string, unknown>([
      [other, null],
      ['127.0.0.1:1', expect.objectContaining({ cause: expect.objectContaining({ code: 'ECONNREFUSED' }) })],
      [broker.address, null],
    ]),
  );
});

it('a connection that breaks leaves one request unanswered, and all waiting requests unsent', async () => {
  const arrived: string[] = [];
  const broker = await startBroker((each) => {
    arrived.push(tenantIn(each));
    if (arrived.length === 1) each.connection.destroy();
    else each.answer(OK);
  });
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  const tenants = ['t0', 't1', 't2'];
  const commit = (tenant: string) => outcomeOf(kafka.ask(1, commitOf(tenant), 'batches'));
  expect(await Promise.all(tenants.map(commit))).toEqual(['unanswered', 'unsent', 'unsent']);
  expect(await Promise.all(['t1', 't2'].map(commit))).toEqual(['answered', 'answered']);
  expect(arrived).toEqual(tenants);
});

it('a refused request concerns only its tenant, and the connection stays open', async () => {
  const fenced = Buffer.concat([int32s(0), Buffer.from([0, 47])]);
  const broker = await startBroker((each) => each.answer(tenantIn(each) === 't1' ? fenced : OK));
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  const commits = ['t0', 't1', 't2'].map((each) => outcomeOf(kafka.ask(1, commitOf(each), 'batches')));
  expect(await Promise.all(commits)).toEqual(['answered', 'INVALID_PRODUCER_EPOCH', 'answered']);
  expect(broker.connections).toHaveLength(2);
});

it('a connection serves its tenants in turn, one request at a time', async () => {
  const arrived: string[] = [];
  const broker = await startBroker((each) => {
    arrived.push(tenantIn(each));
    each.answer(OK);
  });
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  const tenants = ['t0', 't1', 't2'];
  const sendThree = async (tenant: string) => {
    for (let left = 3; left > 0; left -= 1) await kafka.ask(1, commitOf(tenant), 'batches');
  };
  await Promise.all(tenants.map(sendThree));
  expect(arrived).toEqual([...tenants, ...tenants, ...tenants]);
});

it('a commit is sent at once while a quota delays batches', async () => {
  const arrived: string[] = [];
  const broker = await startBroker((each) => {
    const tenant = tenantIn(each);
    arrived.push(tenant);
    each.answer(Buffer.concat([int32s(tenant === 'throttled' ? 300 : 0), Buffer.alloc(2)]));
  });
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  await kafka.ask(1, commitOf('throttled'), 'batches');
  await Promise.all([kafka.ask(1, commitOf('batch'), 'batches'), kafka.ask(1, commitOf('commit'))]);
  expect(arrived).toEqual(['throttled', 'commit', 'batch']);
});

it('the connection to a broker that hangs is closed, and all requests that wait there end together', async () => {
  const broker = await startBroker(() => undefined);
  const kafka = connectionsTo(broker.address);
  await kafka.partitionsOf(['t0.progress']);
  broker.fallSilent();
  const commits = ['t0', 't1'].map((each) => outcomeOf(kafka.ask(1, commitOf(each), 'batches')));
  expect(await Promise.all(commits)).toEqual(['unsent', 'unsent']);
  await vi.waitFor(() => expect(broker.connections[1]?.destroyed).toBe(true));
}, 30_000);

it.each<[string, (socket: Socket) => void]>([
  ['stays silent', () => undefined],
  ['closes its connections', (socket) => socket.destroy()],
])(
  'a request to any broker is answered by the next address if the first %s',
  async (_, accept) => {
    const vain = createServer((socket) => accept(socket.on('error', () => undefined)));
    vain.listen(0, '127.0.0.1');
    await once(vain, 'listening');
    onTestFinished(() => void vain.close());
    const broker = await startBroker(() => undefined);
    const { port } = vain.address() as AddressInfo;
    await expect(pingKafka(connectionsTo(`127.0.0.1:${port}`, broker.address))).resolves.toBeUndefined();
  },
  30_000,
);

it('a request to any broker fails, and says so, if no broker can be reached', async () => {
  const gone = createServer();
  gone.listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await expect(pingKafka(connectionsTo(`127.0.0.1:${port}`))).rejects.toMatchObject({
    code: 'KAFKA_UNREACHABLE',
    message: expect.stringContaining('ECONNREFUSED'),
  });
}, 30_000);
