import type { TestProject } from 'vitest/node';
import { startStack } from '../../../stack/start-stack.ts';

/** Where the real Kafka, registry and Redis of this run are. In a test: `inject('stack')`. */
export interface StackAddresses {
  /** `host:port`. */
  kafkaBrokers: string[];
  /** Base URL of the Confluent-compatible API. */
  registryUrl: string;
  redisUrl: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    stack: StackAddresses;
  }
}

/** Starts the stack once for the whole run. Tests share it: each uses topic prefixes, key prefixes and tenants of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const say = (line: string) => process.stderr.write(`stack: ${line}\n`);
  const stack = await startStack({ say, prefer: 'testcontainers' });
  const { kafkaBrokers, registryUrl, redisUrl } = stack;
  project.provide('stack', { kafkaBrokers, registryUrl, redisUrl });
  return () => stack.stop();
}
