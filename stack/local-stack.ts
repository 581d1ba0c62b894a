import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDelayLine, type DelayLine } from './delay-line.ts';
import { freePort } from './free-port.ts';
import { groundInUse, partOf } from './grounds.ts';
import { findJava, type Java } from './java-tools.ts';
import type { Listener } from './kafka-settings.ts';
import { startLocalKafka, type LocalKafkaOptions } from './local-kafka.ts';
import { fetchParts } from './local-parts.ts';
import { redisInPath, startLocalRedis } from './local-redis.ts';
import { startLocalRegistry } from './local-registry.ts';
import { startTogether, type LocalService } from './local-service.ts';
import type { Addresses, ServiceName } from './service-names.ts';
import { removeWhenGone } from './supervised-process.ts';

/** Handles of local processes; Kafka has one for each broker. */
export type ServiceProcesses = Partial<Record<ServiceName, readonly LocalService[]>>;

export interface StartedServices {
  addresses: Addresses;
  processes: ServiceProcesses;
  stop(): Promise<void>;
}

export interface StartServicesOptions {
  wanted: readonly ServiceName[];
  /** How many of Kafka. */
  brokers: number;
  isLongRun: boolean;
  print: (line: string) => void;
  signal: AbortSignal;
}

interface StartedService {
  address: string;
  processes: readonly LocalService[];
  stop(): Promise<void>;
}

/**
 * Starts services of the ground in use as local processes, in parallel, with their data in one temporary folder.
 *
 * @throws StackError when Java, Maven or a download fails, or a service does not start; the other services are stopped.
 */
export async function startLocalServices(options: StartServicesOptions): Promise<StartedServices> {
  const { wanted, print, signal } = options;
  const ground = groundInUse();
  const ownRedis = redisInPath();
  const java = wanted.some((name) => name !== 'redis') ? await findJava(ground?.javaMajor) : undefined;
  const partsWanted = wanted.filter((name) => name !== 'redis' || ownRedis === undefined).map(partOf);
  const parts = await fetchParts(partsWanted, { print, signal });

  const folder = await mkdtemp(join(tmpdir(), 'rollcall-stack-'));
  const endJanitor = removeWhenGone(folder);
  const removeFolder = async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    endJanitor();
  };
  const inJava = (name: 'kafka' | 'registry', either: AbortSignal) => ({
    java: java as Java,
    part: parts[partOf(name)],
    folder: join(folder, name),
    signal: either,
  });
  const starters: Record<ServiceName, (either: AbortSignal) => Promise<StartedService>> = {
    async kafka(either) {
      const settings = ground?.kafkaSettings;
      const { brokers, isLongRun } = options;
      const kafka = { ...inJava('kafka', either), brokers, isLongRun, settings, mayRecord: !isLongRun };
      return ground?.latencyMs === undefined ? startKafka(kafka) : startFarKafka(kafka, ground.latencyMs);
    },
    async registry(either) {
      const { service, url } = await startLocalRegistry(inJava('registry', either));
      return urlService(service, url, ground?.latencyMs);
    },
    async redis(either) {
      const server = ownRedis ?? join(parts[partOf('redis')], 'redis-server');
      const own = { server, folder: join(folder, 'redis'), signal: either };
      const { service, url } = await startLocalRedis(own);
      return urlService(service, url, ground?.latencyMs);
    },
  };
  const start = (name: ServiceName) => async (either: AbortSignal) => {
    const startedAtMs = performance.now();
    const service = await starters[name](either);
    print(`${name} ready after ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s`);
    return { name, ...service };
  };
  try {
    const services = await startTogether(wanted.map(start), signal);
    return {
      addresses: Object.fromEntries(services.map(({ name, address }) => [name, address])),
      processes: Object.fromEntries(services.map(({ name, processes }) => [name, processes])),
      async stop() {
        await Promise.all(services.map((service) => service.stop()));
        await removeFolder();
      },
    };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

async function startKafka(options: LocalKafkaOptions): Promise<StartedService> {
  const { brokers, stop } = await startLocalKafka(options);
  return {
    address: brokers.map((broker) => broker.address).join(','),
    processes: brokers.map(({ service }) => service),
    stop,
  };
}

/** Clients use a second listener of each broker, which tells them addresses of delay lines (KIP-103). */
async function startFarKafka(options: LocalKafkaOptions, delayMs: number): Promise<StartedService> {
  const listeners: (Listener & { advertisedPort: number })[] = [];
  while (listeners.length < options.brokers) {
    const [port, advertisedPort] = [await freePort(), await freePort()];
    listeners.push({ name: 'FAR', protocol: 'PLAINTEXT', port, advertisedPort });
  }
  const kafka = await startKafka({ ...options, listenersOf: (id) => listeners.slice(id - 1, id) });
  const lines: DelayLine[] = [];
  for (const { port, advertisedPort } of listeners)
    lines.push(await startDelayLine({ target: port, port: advertisedPort, delayMs }));
  return {
    ...kafka,
    address: lines.map((line) => `127.0.0.1:${line.port}`).join(','),
    async stop() {
      await kafka.stop();
      for (const line of lines) await line.stop();
    },
  };
}

/** A service at a URL, behind a delay line if there is to be one. */
async function urlService(service: LocalService, url: string, delayMs?: number): Promise<StartedService> {
  const near = { address: url, processes: [service], stop: () => service.stop() };
  if (delayMs === undefined) return near;
  const address = new URL(url);
  const line = await startDelayLine({ target: Number(address.port), delayMs });
  address.port = String(line.port);
  return {
    ...near,
    address: address.href,
    async stop() {
      await service.stop();
      await line.stop();
    },
  };
}
