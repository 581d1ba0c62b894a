import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { Kafka, logLevel } from 'kafkajs';
import { patchKafkaJs } from '../src/log/wire/kafkajs-patches.ts';

const attemptMs = 5000;

patchKafkaJs();

/** Whether the address accepts a TCP connection: a cheap check before the real one. */
async function accepts(address: string): Promise<boolean> {
  const url = URL.parse(`tcp://${address}`);
  if (url === null) return false;
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), timeout: attemptMs });
    const done = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
    socket.once('timeout', () => done(false));
  });
}

/**
 * The registered brokers, `host:port`, as a broker at one of these addresses knows them. Empty if none answers, or while that
 * one knows no controller, as the creation of topics requires.
 */
export async function registeredBrokers(brokers: readonly string[]): Promise<string[]> {
  const first = brokers[0];
  if (first === undefined || !(await accepts(first))) return [];
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId: 'rollcall-stack',
    logLevel: logLevel.NOTHING,
    connectionTimeout: attemptMs,
    requestTimeout: attemptMs,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { controller, brokers: known } = await admin.describeCluster();
    return controller === null ? [] : known.map(({ host, port }) => `${host}:${port}`);
  } catch {
    return [];
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

/** Whether the registry lists its subjects. */
export async function isRegistryReady(url: string, signal?: AbortSignal): Promise<boolean> {
  const timeout = AbortSignal.timeout(attemptMs);
  try {
    const response = await fetch(`${url}/subjects`, {
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    return response.ok && Array.isArray(await response.json());
  } catch {
    return false;
  }
}

/** Whether Redis answers PING. */
export async function isRedisReady(url: string): Promise<boolean> {
  const parsed = URL.parse(url);
  if (parsed === null || !(await accepts(`${parsed.hostname}:${parsed.port || '6379'}`))) return false;
  const redis = new Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: attemptMs,
    // the kernel still accepts connections for a stopped server
    commandTimeout: attemptMs,
    enableReadyCheck: false,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return (await redis.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
