import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findInPath, findJava } from './java-tools.ts';
import { startLocalKafka } from './local-kafka.ts';
import { fetchParts } from './local-parts.ts';
import { startLocalRedis } from './local-redis.ts';
import { startLocalRegistry } from './local-registry.ts';
import type { LocalService } from './local-service.ts';
import type { Addresses, ServiceName } from './service-names.ts';
import { removeWhenGone } from './supervised-process.ts';

export interface StartedServices {
  addresses: Addresses;
  processes: Partial<Record<ServiceName, LocalService>>;
  stop(): Promise<void>;
}

export interface StartServicesOptions {
  wanted: readonly ServiceName[];
  print: (line: string) => void;
  signal: AbortSignal;
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
  const addresses: Addresses = {};
  const processes: Partial<Record<ServiceName, LocalService>> = {};
  const stop = async () => {
    await Promise.all(Object.values(processes).map((service) => service.stop()));
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    endJanitor();
  };
  // A service that fails ends the wait for the other services.
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const starters: Record<ServiceName, () => Promise<void>> = {
    async kafka() {
      if (java === undefined) return;
      const { service, broker } = await startLocalKafka({
        java,
        part: parts.kafka,
        folder: join(folder, 'kafka'),
        signal: either,
      });
      processes.kafka = service;
      addresses.kafka = broker;
    },
    async registry() {
      if (java === undefined) return;
      const { service, url } = await startLocalRegistry({
        java,
        part: parts.registry,
        folder: join(folder, 'registry'),
        signal: either,
      });
      processes.registry = service;
      addresses.registry = url;
    },
    async redis() {
      const server = redisInPath ?? join(parts.redis, 'redis-server');
      const { service, url } = await startLocalRedis({
        server,
        folder: join(folder, 'redis'),
        signal: either,
      });
      processes.redis = service;
      addresses.redis = url;
    },
  };
  const outcomes = await Promise.allSettled(
    wanted.map(async (name) => {
      const started = performance.now();
      await starters[name]().catch((error: unknown) => {
        failure.abort(error);
        throw error;
      });
      print(`${name} ready after ${((performance.now() - started) / 1000).toFixed(1)} s`);
    }),
  );
  if (outcomes.some((outcome) => outcome.status === 'rejected')) {
    await stop();
    signal.throwIfAborted();
    throw failure.signal.reason;
  }
  return { addresses, processes, stop };
}
