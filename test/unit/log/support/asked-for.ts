import { createRequire } from 'node:module';
import type { KafkaRequest, RequestFor } from '../../../../src/log/wire/kafka-broker.ts';

/** The number of each request, by its name. */
export const apiKeys = createRequire(import.meta.url)('kafkajs/src/protocol/requests/apiKeys') as Readonly<
  Record<string, number>
>;

export interface Asked {
  /** As kafkajs calls the request. */
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** What a request asks for. */
export function askedFor(requestFor: RequestFor): Asked {
  const { request } = requestFor({
    lookupRequest: (apiKey) => (options) => {
      const [name] = Object.entries(apiKeys).find(([, key]) => key === apiKey) ?? [];
      return { request: { name, options }, response: {} } as unknown as KafkaRequest;
    },
  });
  return request as unknown as Asked;
}
