import { partNames, type PartName } from './checksums.ts';

/** Kafka, the schema registry, Redis. */
export const serviceNames = partNames;
export type ServiceName = PartName;

/** Addresses: brokers as `host:port`, separated by commas; the registry's Confluent-compatible base URL; a Redis URL. */
export type Addresses = Partial<Record<ServiceName, string>>;
