import type { TestProject } from 'vitest/node';
import { startStack, type Stack } from '../../../stack/start-stack.ts';

/** The addresses of the real Kafka, registry and Redis of this run. In a test: `inject('stack')`. */
export interface StackAddresses {
  /** `host:port`. */
  kafkaBrokers: string[];
  /** Base URL of the Confluent-compatible API. */
  registryUrl: string;
  redisUrl: string;
  /** How many replicas a topic is to have. */
  replicationFactor: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    stack: StackAddresses;
  }
}

/** Vitest loads this module once for each project; they share one stack. */
const run = globalThis as { rollcallStack?: Promise<Stack> | undefined };

/** Starts the stack once for the whole run. Tests share it: each uses topic prefixes, key prefixes and tenants of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const print = (line: string) => process.stderr.write(`stack: ${line}\n`);
  run.rollcallStack ??= startStack({ print, prefer: 'testcontainers' });
  const stack = await run.rollcallStack;
  const { kafkaBrokers, registryUrl, redisUrl, replicationFactor } = stack;
  project.provide('stack', { kafkaBrokers, registryUrl, redisUrl, replicationFactor });
  // Vitest calls this when the tests of all projects are over.
  return async () => {
    run.rollcallStack = undefined;
    await stack.stop();
  };
}
