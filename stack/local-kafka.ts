import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatKafka } from './format-kafka.ts';
import { freePort } from './free-port.ts';
import { startArchive } from './java-archive.ts';
import type { Java } from './java-tools.ts';
import {
  brokerSettings,
  propertiesText,
  type BrokerPlan,
  type KafkaSettings,
  type Listener,
} from './kafka-settings.ts';
import { startLocalService, startTogether, type LocalService } from './local-service.ts';
import { registeredBrokers } from './readiness.ts';
import { runCommand, type CommandResult } from './run-command.ts';

export interface LocalJavaOptions {
  java: Java;
  /** The folder of the unpacked part. */
  part: string;
  /** A separate folder for logs and data; it is created. */
  folder: string;
  signal: AbortSignal;
}

export interface LocalKafkaOptions extends LocalJavaOptions {
  /** How many brokers; each is one of the controllers, too. */
  brokers: number;
  /** Listeners of a broker besides its first one, which is PLAINTEXT. */
  listenersOf?: ((id: number) => readonly Listener[]) | undefined;
  /**
   * Whether each broker has the JIT compiler and the garbage collector that Kafka's own start script chooses. Then its
   * start takes longer.
   */
  isLongRun?: boolean | undefined;
  /** Of every broker, besides those of {@link brokerSettings}. */
  settings?: KafkaSettings | undefined;
  /** SCRAM credentials that the cluster begins with (KIP-900). */
  credentials?: readonly string[] | undefined;
  /** Whether the first broker may record an archive of its classes, which then delays its stop by some seconds. */
  mayRecord?: boolean | undefined;
}

/** A broker that runs as a local process. */
export interface LocalBroker {
  readonly service: LocalService;
  /** `host:port` of its first listener. */
  readonly address: string;
  /** The folder of its topics. */
  readonly dataFolder: string;
}

/** A cluster of brokers that run as local processes. */
export interface LocalKafka {
  /** In the order of their ids, which begin with 1. */
  readonly brokers: readonly LocalBroker[];
  /** Runs one of Kafka's own tools, by its class. */
  readonly tool: (main: string, args: readonly string[]) => Promise<CommandResult>;
  readonly stop: () => Promise<void>;
}

/**
 * The limit of Kafka's own start script. Few tests come near it. With 256 MB, brokers of 350 tenants do nothing but collect
 * garbage.
 */
const HEAP = '-Xmx1g';
/** As in Kafka's own start script. */
const LONG_RUN = ['-XX:+UseG1GC', '-XX:MaxGCPauseMillis=20', '-XX:InitiatingHeapOccupancyPercent=35'];
/** A broker's data is deleted with it, so it is killed. Only one that records an archive must end properly. */
const STOP_TIMEOUT_MS = 1;
const RECORDING_STOP_TIMEOUT_MS = 30_000;

/**
 * Starts a KRaft cluster of brokers on free ports of 127.0.0.1, each with its own empty log. It is ready when each broker
 * knows all of them and the controller.
 *
 * @throws StackError when one does not start; the others are stopped
 */
export async function startLocalKafka(options: LocalKafkaOptions): Promise<LocalKafka> {
  const { java, part, signal, credentials, isLongRun = false, mayRecord = false } = options;
  const brokers = await planBrokers(options);
  const ofNextRuns = startArchive({ java, folder: part, name: 'kafka', mayRecord });
  const archive = startArchive({ java, folder: part, name: 'kafka', mayRecord: false });
  const libraries = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', join(part, '*')];
  // The tools record no archive: their few classes would replace those of the broker.
  const javaFlags = [...archive.flags, ...libraries];
  await formatKafka({ javaPath: java.path, javaFlags, brokers, credentials, signal });

  const addresses = brokers.map(({ address }) => address);
  let isFormed = false;
  const start = (broker: PlannedBroker) => (either: AbortSignal) => {
    const { flags, isRecording, keep } = broker === brokers[0] ? ofNextRuns : archive;
    return startLocalService(
      {
        name: `broker ${broker.id} of Kafka`,
        command: java.path,
        args: [HEAP, ...(isLongRun ? LONG_RUN : flags), ...libraries, 'kafka.Kafka', broker.properties],
        folder: broker.folder,
        async isReady() {
          const known = await registeredBrokers([broker.address]);
          // A broker that is restarted alone may find others away.
          return (isFormed ? [broker.address] : addresses).every((address) => known.includes(address));
        },
        readyTimeoutMs: 120_000,
        stopTimeoutMs: isRecording ? RECORDING_STOP_TIMEOUT_MS : STOP_TIMEOUT_MS,
        afterStop: keep,
      },
      either,
    );
  };
  const services = await startTogether(brokers.map(start), signal);
  isFormed = true;
  return {
    brokers: services.map((service, at) => ({ service, ...(brokers[at] as PlannedBroker) })),
    tool: (main, args) =>
      runCommand(java.path, [...javaFlags, main, '--bootstrap-server', addresses.join(','), ...args]),
    async stop() {
      // One after the other, because the first one cannot end properly without the others.
      for (const service of services) await service.stop();
    },
  };
}

type PlannedBroker = BrokerPlan & Omit<LocalBroker, 'service'> & { folder: string; properties: string };

/** Chooses ports and folders, and writes `server.properties`. */
async function planBrokers(options: LocalKafkaOptions): Promise<PlannedBroker[]> {
  const { brokers: count, listenersOf, settings } = options;
  const brokers: PlannedBroker[] = [];
  for (let id = 1; id <= count; id += 1) {
    const [port, controllerPort] = [await freePort(), await freePort()];
    const folder = join(options.folder, String(id));
    await mkdir(folder, { recursive: true });
    brokers.push({
      id,
      address: `127.0.0.1:${port}`,
      controllerPort,
      listeners: [{ name: 'PLAINTEXT', port, protocol: 'PLAINTEXT' }, ...(listenersOf?.(id) ?? [])],
      folder,
      properties: join(folder, 'server.properties'),
      dataFolder: join(folder, 'data'),
    });
  }
  for (const broker of brokers)
    await writeFile(broker.properties, propertiesText({ ...brokerSettings(broker, brokers), ...settings }));
  return brokers;
}
