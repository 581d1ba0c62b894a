import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatKafka } from '../../../stack/format-kafka.ts';
import { freePort } from '../../../stack/free-port.ts';
import { startArchive } from '../../../stack/java-archive.ts';
import { findJava } from '../../../stack/java-tools.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { startLocalService, type LocalService } from '../../../stack/local-service.ts';
import { isKafkaReady } from '../../../stack/readiness.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
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

/**
 * Starts a broker with two listeners: one of them advertises the address of a proxy (KIP-103). It runs as a local process
 * even where the shared stack runs in Docker, because the tests need faults that a container does not allow.
 *
 * @throws StackError when there is no Java or Maven, or it does not come up
 */
export async function startOwnKafka(
  settings: Readonly<Record<string, string | number>> = {},
): Promise<OwnKafka> {
  const java = await findJava();
  const parts = await fetchParts(['kafka'], { print: () => undefined });
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-kafka-'));
  const endJanitor = removeWhenGone(folder);
  const [port, proxiedPort, proxyPort] = [await freePort(), await freePort(), await freePort()];
  const properties = join(folder, 'server.properties');
  const data = join(folder, 'data');
  const wanted = { ...(await brokerSettings({ port, proxiedPort, proxyPort, data })), ...settings };
  await writeFile(properties, propertiesText(wanted));
  const archive = startArchive({ java, folder: parts.kafka, name: 'kafka' });
  const logging = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  const flags = [
    ...archive.flags.filter((flag) => !flag.startsWith('-XX:ArchiveClassesAtExit=')),
    logging,
    '-cp',
    join(parts.kafka, '*'),
  ];
  await formatKafka({ javaPath: java.path, javaFlags: flags, properties });
  const brokers = [`127.0.0.1:${port}`];
  const service = await startLocalService(
    {
      name: 'a Kafka of its own',
      command: java.path,
      args: ['-Xmx384m', ...flags, 'kafka.Kafka', properties],
      folder,
      isReady: () => isKafkaReady(brokers),
      readyTimeoutMs: 120_000,
      stopTimeoutMs: 1,
    },
    new AbortController().signal,
  );
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

/** Few internal partitions and short sessions suffice for a single broker that is killed and started again. */
async function brokerSettings(options: {
  port: number;
  proxiedPort: number;
  proxyPort: number;
  data: string;
}): Promise<Record<string, string | number | boolean>> {
  const { port, proxiedPort, proxyPort, data } = options;
  const controllerPort = await freePort();
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'PLAINTEXT',
    listeners: `PLAINTEXT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxiedPort},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port},PROXIED://127.0.0.1:${proxyPort}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,
    'broker.session.timeout.ms': 4000,
    'broker.heartbeat.interval.ms': 1000,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
  };
}

function propertiesText(settings: Readonly<Record<string, string | number | boolean>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
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
