import { hasCode } from '../errors.ts';
import { RequestFailure } from './transaction-brokers.ts';

export const MAX_CAUSES = 5;

export interface KafkaFailure {
  readonly name: string;
  readonly message: string;
  readonly type?: string | undefined;
  /** The topic that the failure is about. */
  readonly topic?: string | undefined;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[] | undefined;
}

/** Returns the innermost failure: kafkajs wraps the last retry's failure, and aggregates the failures of several topics. */
export function innermost(error: unknown): KafkaFailure {
  let current = error as KafkaFailure;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const cause = (current?.cause ?? current?.errors?.[0]) as KafkaFailure | undefined;
    if (cause === undefined || cause === null || typeof cause !== 'object') break;
    current = cause;
  }
  return current ?? { name: 'Error', message: String(error) };
}

const CONNECTION_FAILURES = new Set([
  'KafkaJSConnectionError',
  'KafkaJSConnectionClosedError',
  'KafkaJSRequestTimeoutError',
  'KafkaJSBrokerNotFound',
  'KafkaJSLockTimeout',
]);

/** Whether the connection to one broker failed, so that another attempt may succeed, perhaps at another broker. */
export function isOfConnection({ name }: Pick<KafkaFailure, 'name'>): boolean {
  return CONNECTION_FAILURES.has(name);
}

/** Makes a {@link RequestFailure} of what kafkajs throws; others, such as a refused login, stay as they are. */
export function failureOf(error: unknown, without: 'unsent' | 'unanswered'): unknown {
  // The login has no token now; soon it may have one.
  if (hasCode(error, 'KAFKA_UNREACHABLE')) return new RequestFailure(without, { cause: error });
  const failure = innermost(error);
  const { name, type } = failure;
  if (name === 'KafkaJSProtocolError' && type !== undefined)
    return new RequestFailure('refused', { type, cause: error });
  return isOfConnection(failure) ? new RequestFailure(without, { cause: error }) : error;
}
