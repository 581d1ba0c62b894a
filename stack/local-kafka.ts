import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startArchive } from './java-archive.ts';
import type { Java } from './java-tools.ts';
import { formatKafka } from './format-kafka.ts';
import { freePort } from './free-port.ts';
import { startLocalService, type LocalService } from './local-service.ts';
import { isKafkaReady } from './readiness.ts';

export interface LocalJavaOptions {
  java: Java;
  /** The folder of the unpacked part. */
  part: string;
  /** A separate folder for logs and data; it is created. */
  folder: string;
  signal: AbortSignal;
}

/** Starts one KRaft broker with its own empty log on a free port of 127.0.0.1. */
export async function startLocalKafka({
  java,
  part,
  folder,
  signal,
}: LocalJavaOptions): Promise<{ service: LocalService; broker: string }> {
  const [port, controllerPort] = [await freePort(), await freePort()];
  const properties = join(folder, 'server.properties');
  await mkdir(folder, { recursive: true });
  const settings = brokerSettings({ port, controllerPort, dataFolder: join(folder, 'data') });
  await writeFile(properties, propertiesText(settings));

  const archive = startArchive({ java, folder: part, name: 'kafka' });
  const common = [...archive.flags, '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn', '-cp', join(part, '*')];
  // The format tool records no archive: its few classes would replace those of the broker.
  const formatFlags = common.filter((flag) => !flag.startsWith('-XX:ArchiveClassesAtExit'));
  await formatKafka({ javaPath: java.path, javaFlags: formatFlags, properties, signal });

  const broker = `127.0.0.1:${port}`;
  const service = await startLocalService(
    {
      name: 'Kafka',
      command: java.path,
      args: ['-Xmx512m', ...common, 'kafka.Kafka', properties],
      folder,
      isReady: () => isKafkaReady([broker]),
      readyTimeoutMs: 120_000,
      stopTimeoutMs: archive.isRecording ? 30_000 : 10_000,
      afterStop: archive.keep,
    },
    signal,
  );
  return { service, broker };
}

/** The settings that a single broker for development needs; all others are Kafka's defaults. */
export function brokerSettings(options: { port: number; controllerPort: number; dataFolder: string }) {
  const { port, controllerPort, dataFolder } = options;
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.bootstrap.servers': `127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': dataFolder,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
    'share.coordinator.state.topic.num.partitions': 1,
    // a killed broker can register again only after its session expires: by default 9 s
    'broker.session.timeout.ms': 4000,
    'broker.heartbeat.interval.ms': 1000,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
  };
}

/** The text of `server.properties`. */
export function propertiesText(settings: Readonly<Record<string, string | number | boolean>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
