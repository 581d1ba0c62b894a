import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../stack/free-port.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { dataOf, startLocalBroker } from '../../integration/support/local-broker.ts';
import { startKafkaProxy, type KafkaProxy } from './proxy-kafka.ts';

/** A broker that no other test uses, so that it may be killed, stopped and filled. */
export interface OwnKafka extends AsyncDisposable {
  /** `host:port` of the broker itself, for the checks. */
  readonly brokers: string[];
  /** `host:port` of the proxy: a client that begins there uses it for all other connections, too. */
  readonly proxiedBrokers: string[];
  readonly proxy: KafkaProxy;
  readonly service: LocalService;
  /** Size of the largest file of records of any topic except Kafka's own, bytes. */
  largestLogBytes(): Promise<number>;
  /** Topics with a text in their files of records on disk, including those that are about to be deleted. */
  topicsHolding(text: string): Promise<string[]>;
}

/** For a broker that is killed and started again. */
const SHORT_SESSIONS = {
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,
  'broker.session.timeout.ms': 4000,
  'broker.heartbeat.interval.ms': 1000,
};

/**
 * Starts a broker with two listeners: one of them advertises the address of a proxy (KIP-103). It is a local process,
 * because the tests need faults that a container does not allow.
 *
 * @throws StackError when there is no Java or Maven, or it does not come up
 */
export async function startOwnKafka(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<OwnKafka> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-kafka-'));
  const endJanitor = removeWhenGone(folder);
  const [port, proxiedPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
  const data = dataOf(folder);
  const brokers = [`127.0.0.1:${port}`];
  const { service } = await startLocalBroker({
    name: 'a Kafka of its own',
    folder,
    listeners: [
      { name: 'PLAINTEXT', port, protocol: 'PLAINTEXT' },
      { name: 'PROXIED', port: proxiedPort, advertisedPort: proxyPort, protocol: 'PLAINTEXT' },
    ],
    settings: { ...SHORT_SESSIONS, ...settings },
  });
  const proxy = await startKafkaProxy({ target: `127.0.0.1:${proxiedPort}`, port: proxyPort });
  return {
    brokers,
    proxiedBrokers: [proxy.address],
    proxy,
    service,
    largestLogBytes: () => largestLogBytes(data),
    topicsHolding: (text) => topicsHolding(data, text),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await proxy[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      endJanitor();
    },
  };
}

async function topicsHolding(data: string, text: string): Promise<string[]> {
  const topics = new Set<string>();
  for (const name of await readdir(data, { recursive: true })) {
    if (!name.includes('.log') || name.startsWith('__')) continue;
    // The cleaner may remove a file between the listing and the read.
    const bytes = await readFile(join(data, name)).catch(() => Buffer.alloc(0));
    if (bytes.includes(text)) topics.add(name.replace(/-\d+\/.*$/, ''));
  }
  return [...topics].sort();
}

async function largestLogBytes(data: string): Promise<number> {
  let largest = 0;
  for (const name of await readdir(data, { recursive: true })) {
    if (name.endsWith('.log') && !name.startsWith('__'))
      largest = Math.max(largest, (await stat(join(data, name))).size);
  }
  return largest;
}
