/** Kafka, the schema registry, Redis. */
export const serviceNames = ['kafka', 'registry', 'redis'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** Addresses: brokers as `host:port`, separated by commas; the registry's Confluent-compatible base URL; a Redis URL. */
export type Addresses = Partial<Record<ServiceName, string>>;
