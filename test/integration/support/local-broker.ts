import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatKafka, type FormatKafkaOptions } from '../../../stack/format-kafka.ts';
import { freePort } from '../../../stack/free-port.ts';
import { startArchive } from '../../../stack/java-archive.ts';
import { findJava } from '../../../stack/java-tools.ts';
import { brokerSettings, propertiesText } from '../../../stack/local-kafka.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { startLocalService, type LocalService } from '../../../stack/local-service.ts';
import { isKafkaReady } from '../../../stack/readiness.ts';

type Settings = Readonly<Record<string, string | number | boolean>>;

interface Listener {
  readonly name: string;
  readonly port: number;
  /** Where clients are told to connect; the port itself if left out. */
  readonly advertisedPort?: number;
  readonly protocol: 'PLAINTEXT' | 'SSL' | 'SASL_SSL';
}

export interface LocalBroker {
  readonly service: LocalService;
  readonly java: { readonly path: string; readonly flags: readonly string[] };
}

/**
 * Starts a broker for one test. The first listener must be PLAINTEXT: the broker itself and the check of its readiness
 * use it. It runs as a local process even where the shared stack runs in Docker.
 *
 * @throws StackError when there is no Java or Maven, or it does not come up
 */
export async function startLocalBroker(options: {
  readonly name: string;
  readonly folder: string;
  readonly listeners: readonly [Listener, ...Listener[]];
  /** Besides those that a single broker needs. */
  readonly settings: Settings;
  readonly credentials?: readonly string[];
  /** Default: one of its own. */
  readonly cluster?: FormatKafkaOptions['cluster'];
}): Promise<LocalBroker> {
  const { name, folder, listeners, credentials, cluster } = options;
  await mkdir(folder, { recursive: true });
  const java = await findJava();
  const { kafka } = await fetchParts(['kafka'], { print: () => undefined });
  const properties = join(folder, 'server.properties');
  const controllerPort = await freePort();
  const basics = brokerSettings({ port: listeners[0].port, controllerPort, dataFolder: dataOf(folder) });
  const settings = { ...basics, ...listening(listeners, controllerPort), ...options.settings };
  await writeFile(properties, propertiesText(settings));
  const archive = startArchive({ java, folder: kafka, name: 'kafka' });
  const flags = [
    ...archive.flags.filter((flag) => !flag.startsWith('-XX:ArchiveClassesAtExit=')),
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    '-cp',
    join(kafka, '*'),
  ];
  await formatKafka({ javaPath: java.path, javaFlags: flags, properties, credentials, cluster });
  const brokers = [`127.0.0.1:${listeners[0].port}`];
  const service = await startLocalService(
    {
      name,
      command: java.path,
      args: ['-Xmx384m', ...flags, 'kafka.Kafka', properties],
      folder,
      isReady: () => isKafkaReady(brokers),
      readyTimeoutMs: 120_000,
      stopTimeoutMs: 1,
    },
    new AbortController().signal,
  );
  return { service, java: { path: java.path, flags } };
}

/** The folder of the broker's topics. */
export function dataOf(folder: string): string {
  return join(folder, 'data');
}

/** Where the broker listens, and where it says that it does. */
function listening(listeners: readonly [Listener, ...Listener[]], controllerPort: number): Settings {
  const at = listeners.map(({ name, port }) => `${name}://127.0.0.1:${port}`);
  const advertised = listeners.map(
    ({ name, port, advertisedPort = port }) => `${name}://127.0.0.1:${advertisedPort}`,
  );
  const protocols = listeners.map(({ name, protocol }) => `${name}:${protocol}`);
  return {
    'inter.broker.listener.name': listeners[0].name,
    listeners: [...at, `CONTROLLER://127.0.0.1:${controllerPort}`].join(','),
    'advertised.listeners': advertised.join(','),
    'listener.security.protocol.map': [...protocols, 'CONTROLLER:PLAINTEXT'].join(','),
  };
}
