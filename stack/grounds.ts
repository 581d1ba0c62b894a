import type { PartName } from './checksums.ts';
import { StackError } from './errors.ts';
import type { KafkaSettings } from './kafka-settings.ts';
import type { ServiceName } from './service-names.ts';

/** What tests run on: versions of the services, settings of the brokers, and the network before them. */
export interface Ground {
  /** What differs from the usual ground, for people. */
  readonly summary: string;
  /** Other versions than the usual ones. */
  readonly parts?: Readonly<Partial<Record<ServiceName, PartName>>>;
  /** Of every broker, besides its usual ones. */
  readonly kafkaSettings?: KafkaSettings;
  /** How much later everything arrives that passes between the services and their clients, each way. */
  readonly latencyMs?: number;
  /** Default: 17. */
  readonly javaMajor?: number;
}

export const groundVariable = 'ROLLCALL_GROUND';

/**
 * A segment ends when its index is full, which here has room for one entry, made after 1 KiB. So even small topics have
 * segments that can be cleaned. A small segment size would not do, because such segments refuse large batches; nor
 * would `segment.ms`, which topics set themselves. The lag of 10 s is for tests that read records after later ones have
 * replaced them.
 */
const EAGER_CLEANER: KafkaSettings = {
  'log.cleaner.backoff.ms': 100,
  'log.cleaner.min.compaction.lag.ms': 10_000,
  'log.cleaner.min.cleanable.ratio': 0.001,
  'log.index.size.max.bytes': 24,
  'log.index.interval.bytes': 1024,
};

/** The grounds that users have, besides the usual one. Redis 8.2 and Valkey are for Linux on x86-64. */
export const grounds: Readonly<Record<string, Ground>> = {
  'kafka-3.9': { summary: 'Kafka 3.9.2', parts: { kafka: 'kafka-3.9' } },
  'kafka-4.4': { summary: 'Kafka 4.4.0', parts: { kafka: 'kafka-4.4' } },
  'registry-3': { summary: 'Apicurio Registry 3.3.3', parts: { registry: 'registry-3' }, javaMajor: 21 },
  'redis-6.2': { summary: 'Redis 6.2.6', parts: { redis: 'redis' } },
  'redis-8.2': { summary: 'Redis 8.2.3', parts: { redis: 'redis-8.2' } },
  'valkey-9.1': { summary: 'Valkey 9.1.2', parts: { redis: 'valkey-9.1' } },
  'eager-cleaner': {
    summary: 'brokers that compact what is older than 10 s',
    kafkaSettings: EAGER_CLEANER,
  },
  latency: { summary: '20 ms each way to every service', latencyMs: 20 },
};

/**
 * The ground that `ROLLCALL_GROUND` names; null for the usual one.
 *
 * @throws StackError for a name that is not among {@link grounds}
 */
export function groundInUse(): Ground | null {
  const name = process.env[groundVariable];
  if (name === undefined || name === '') return null;
  const ground = grounds[name];
  if (ground === undefined)
    throw new StackError(`${groundVariable} is ${name}, not one of ${Object.keys(grounds).join(', ')}`);
  return ground;
}

/** The part of a service on the ground in use. */
export function partOf(service: ServiceName): PartName {
  return groundInUse()?.parts?.[service] ?? service;
}
