import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findInPath, findJava, type Java } from './java-tools.ts';
import { startLocalKafka } from './local-kafka.ts';
import { fetchParts } from './local-parts.ts';
import { startLocalRedis } from './local-redis.ts';
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
  print: (line: string) => void;
  signal: AbortSignal;
}

interface StartedService {
  name: ServiceName;
  address: string;
  processes: readonly LocalService[];
  stop(): Promise<void>;
}

/**
 * Starts services as local processes, in parallel, with their data in one temporary folder.
 *
 * @throws StackError when Java, Maven or a download fails, or a service does not start; the other services are stopped.
 */
export async function startLocalServices(options: StartServicesOptions): Promise<StartedServices> {
  const { wanted, print, signal } = options;
  const redisInPath = findInPath('redis-server');
  const java = wanted.some((name) => name !== 'redis') ? await findJava() : undefined;
  const partsWanted = wanted.filter((name) => name !== 'redis' || redisInPath === undefined);
  const parts = await fetchParts(partsWanted, { print, signal });

  const folder = await mkdtemp(join(tmpdir(), 'rollcall-stack-'));
  const endJanitor = removeWhenGone(folder);
  const removeFolder = async () => {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    endJanitor();
  };
  const inJava = (name: 'kafka' | 'registry', either: AbortSignal) => ({
    java: java as Java,
    part: parts[name],
    folder: join(folder, name),
    signal: either,
  });
  const starters: Record<ServiceName, (either: AbortSignal) => Promise<Omit<StartedService, 'name'>>> = {
    async kafka(either) {
      const { brokers } = options;
      const kafka = await startLocalKafka({ ...inJava('kafka', either), brokers, mayRecord: true });
      return {
        address: kafka.brokers.map((broker) => broker.address).join(','),
        processes: kafka.brokers.map(({ service }) => service),
        stop: kafka.stop,
      };
    },
    async registry(either) {
      const { service, url } = await startLocalRegistry(inJava('registry', either));
      return { address: url, processes: [service], stop: () => service.stop() };
    },
    async redis(either) {
      const server = redisInPath ?? join(parts.redis, 'redis-server');
      const own = { server, folder: join(folder, 'redis'), signal: either };
      const { service, url } = await startLocalRedis(own);
      return { address: url, processes: [service], stop: () => service.stop() };
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
