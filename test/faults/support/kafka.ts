import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../stack/free-port.ts';
import type { LocalService } from '../../../stack/local-service.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';
import { dataOf, startLocalBroker } from '../../integration/support/local-broker.ts';
import { startProxy, type Proxy } from './proxy.ts';

/** Brokers that no other test uses, so that they may be killed, stopped and filled. */
export interface OwnKafka extends AsyncDisposable {
  /** `host:port` of the brokers themselves, for the checks. */
  readonly brokers: string[];
  /** Before the first broker: a client that begins at its address uses it for all other connections to it, too. */
  readonly proxy: Proxy;
  /** The first one is also the controller. */
  readonly services: readonly [LocalService, ...LocalService[]];
  /** Runs one of Kafka's own tools, by its class. */
  tool(
    main: string,
    args: readonly string[],
  ): Promise<{ readonly code: number | null; readonly output: string }>;
  /** Size of the largest file of records of topics with that prefix, bytes. */
  largestLogBytes(topicPrefix: string): Promise<number>;
  /** Topics with a text in their files of records on disk, including those that are about to be deleted. */
  topicsHolding(text: string): Promise<string[]>;
}

/** For brokers that are killed and started again. */
const SHORT_SESSIONS = {
  'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,
  'broker.session.timeout.ms': 4000,
  'broker.heartbeat.interval.ms': 1000,
};

/**
 * Starts one broker, or several. Each has two listeners; the second one of the first advertises the address of a proxy
 * (KIP-103). They are local processes, because the tests need faults that a container does not allow.
 *
 * @throws StackError when there is no Java or Maven, or one does not come up
 */
export async function startOwnKafka(
  settings: Readonly<Record<string, string | number>> = {},
  count = 1,
): Promise<OwnKafka> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-own-kafka-'));
  const endJanitor = removeWhenGone(folder);
  const controller = `127.0.0.1:${await freePort()}`;
  const clusterId = randomBytes(16).toString('base64url');
  const [proxiedPort, proxyPort] = [await freePort(), await freePort()];
  const services: LocalService[] = [];
  const brokers: string[] = [];
  let tool: OwnKafka['tool'] | undefined;
  for (let id = 1; id <= count; id += 1) {
    const port = await freePort();
    const isFirst = id === 1;
    const own = { name: 'PLAINTEXT', port, protocol: 'PLAINTEXT' } as const;
    const proxied = { ...own, name: 'PROXIED', port: proxiedPort, advertisedPort: proxyPort };
    const listeners = [`PLAINTEXT://127.0.0.1:${port}`];
    if (isFirst) listeners.push(`PROXIED://127.0.0.1:${proxiedPort}`, `CONTROLLER://${controller}`);
    const { service, java } = await startLocalBroker({
      name: `Kafka ${id} of ${count}`,
      folder: join(folder, String(id)),
      listeners: isFirst ? [own, proxied] : [own],
      settings: {
        ...SHORT_SESSIONS,
        'node.id': id,
        'process.roles': isFirst ? 'broker,controller' : 'broker',
        'controller.quorum.bootstrap.servers': controller,
        listeners: listeners.join(','),
        ...settings,
      },
      cluster: { id: clusterId, isController: isFirst },
    });
    services.push(service);
    tool ??= (main, args) =>
      runCommand(java.path, [...java.flags, main, '--bootstrap-server', `127.0.0.1:${port}`, ...args]);
    brokers.push(`127.0.0.1:${port}`);
  }
  const data = dataOf(join(folder, '1'));
  const proxy = await startProxy(`127.0.0.1:${proxiedPort}`, { port: proxyPort, speaksKafka: true });
  return {
    brokers,
    proxy,
    tool: tool as OwnKafka['tool'],
    services: services as [LocalService, ...LocalService[]],
    async largestLogBytes(topicPrefix) {
      const own = (await logFiles(data)).filter((name) => name.includes(topicPrefix));
      return Math.max(...(await Promise.all(own.map(async (name) => (await stat(name)).size))));
    },
    async topicsHolding(text) {
      const topics = new Set<string>();
      for (const name of await logFiles(data)) {
        // The cleaner may remove a file between the listing and the read.
        const bytes = await readFile(name).catch(() => Buffer.alloc(0));
        if (bytes.includes(text)) topics.add(name.slice(data.length + 1).replace(/-\d+\/.*$/, ''));
      }
      return [...topics].sort();
    },
    async [Symbol.asyncDispose]() {
      for (const service of services) await service.stop();
      await proxy[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      endJanitor();
    },
  };
}

async function logFiles(data: string): Promise<string[]> {
  const names = await readdir(data, { recursive: true });
  return names
    .filter((name) => name.includes('.log') && !name.startsWith('__'))
    .map((name) => join(data, name));
}
