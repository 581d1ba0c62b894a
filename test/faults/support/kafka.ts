import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { freePort } from '../../../stack/free-port.ts';
import type { KafkaSettings } from '../../../stack/kafka-settings.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { startTestKafka } from '../../integration/support/local-kafka.ts';
import { withAdmin } from '../../integration/support/stack-kafka.ts';
import { KafkaNetwork } from './kafka-network.ts';

/** Brokers that no other test uses, so that they may be killed, stopped and filled. */
export type OwnKafka = Awaited<ReturnType<typeof startOwnKafka>>;

/** How often the coordinator looks for transactions that outlived their time-out, and for producers that are gone. */
const EAGER_COORDINATOR = { 'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500 };

/**
 * Starts a cluster. Each broker has two listeners; the second one advertises the address of a proxy (KIP-103). They are local
 * processes, because the tests need faults that a container does not allow.
 *
 * @throws StackError when there is no Java or Maven, or one does not come up
 */
export async function startOwnKafka(settings: KafkaSettings = {}, count = 3) {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-kafka-'));
  const endJanitor = removeWhenGone(folder);
  const ports: { readonly port: number; readonly advertisedPort: number }[] = [];
  for (let id = 1; id <= count; id += 1)
    ports.push({ port: await freePort(), advertisedPort: await freePort() });
  const kafka = await startTestKafka({
    folder,
    brokers: count,
    listenersOf: (id) => [{ name: 'PROXIED', protocol: 'PLAINTEXT', port: 0, ...ports[id - 1] }],
    settings: { ...EAGER_COORDINATOR, ...settings },
  });
  const network = new KafkaNetwork();
  for (const { port, advertisedPort } of ports) await network.add(`127.0.0.1:${port}`, advertisedPort);
  const addresses = kafka.brokers.map(({ address }) => address);
  const data = kafka.brokers[0]?.dataFolder ?? '';
  const services = kafka.brokers.map(({ service }) => service) as [LocalService, ...LocalService[]];
  const inSync = () => vi.waitFor(async () => expect(await partitionsOutOfSync(addresses)).toEqual([]));
  return {
    /** `host:port` of the brokers themselves, for the checks. */
    brokers: addresses,
    /** Before the brokers: a client that begins at the address of a proxy uses no other way to any of them. */
    network,
    /** In the order of the brokers; each is one of the controllers, too. */
    services,
    /** Kills a broker with SIGKILL, and all connections to it. */
    kill: (broker: number): void => {
      services[broker]?.kill('SIGKILL');
      network.proxies[broker]?.begin('reset');
    },
    /** Starts brokers again, and waits until another one may fail. */
    async areBack(...brokers: readonly number[]): Promise<void> {
      await Promise.all(brokers.map(async (broker) => services[broker]?.restart()));
      await inSync();
    },
    /** Waits until every replica of every partition is in sync, so that any one broker may fail. */
    inSync,
    /** Runs one of Kafka's own tools, by its class. */
    tool: kafka.tool,
    /** Size of the largest file of records of topics with that prefix at the first broker, bytes. */
    async largestLogBytes(topicPrefix: string): Promise<number> {
      const own = (await logFiles(data)).filter((name) => name.includes(topicPrefix));
      return Math.max(...(await Promise.all(own.map(async (name) => (await stat(name)).size))));
    },
    /** Topics with a text in their files of records at the first broker, including those that are about to be deleted. */
    async topicsHolding(text: string): Promise<string[]> {
      const topics = new Set<string>();
      for (const name of await logFiles(data)) {
        // The cleaner may remove a file between the listing and the read.
        const bytes = await readFile(name).catch(() => Buffer.alloc(0));
        if (bytes.includes(text)) topics.add(name.slice(data.length + 1).replace(/-\d+\/.*$/, ''));
      }
      return [...topics].sort();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await kafka.stop();
      await network[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      endJanitor();
    },
  };
}

async function partitionsOutOfSync(brokers: string[]): Promise<string[]> {
  const { topics } = await withAdmin((admin) => admin.fetchTopicMetadata(), brokers);
  return topics.flatMap(({ name, partitions }) =>
    partitions.flatMap(({ partitionId, isr, replicas }) =>
      isr.length < replicas.length ? [`${name}/${partitionId}`] : [],
    ),
  );
}

async function logFiles(data: string): Promise<string[]> {
  const names = await readdir(data, { recursive: true });
  return names
    .filter((name) => name.includes('.log') && !name.startsWith('__'))
    .map((name) => join(data, name));
}
