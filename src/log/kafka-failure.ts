import { hasCode } from '../errors.ts';
import { RequestFailure } from './transaction-brokers.ts';

const MOST_CAUSES = 5;

export interface KafkaFailure {
  readonly name: string;
  readonly message: string;
  readonly type?: string | undefined;
  /** The topic that the failure is about. */
  readonly topic?: string | undefined;
  readonly code?: unknown;
}

/** Returns an error and its causes, the innermost last. */
export function causesOf(error: unknown): readonly Error[] {
  const found: Error[] = [];
  for (let each = error; each instanceof Error && found.length < MOST_CAUSES; each = each.cause)
    found.push(each);
  return found;
}

/** Returns the failure that caused an error: what kafkajs or a request has thrown. */
export function innermost(error: unknown): KafkaFailure {
  return causesOf(error).at(-1) ?? { name: 'Error', message: String(error) };
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

/** Turns what kafkajs throws into a {@link RequestFailure}. Other errors, such as a refused login, stay as they are. */
export function failureOf(error: unknown, without: 'unsent' | 'unanswered'): unknown {
  // The login has no token now; soon it may have one.
  if (hasCode(error, 'KAFKA_UNREACHABLE')) return new RequestFailure(without, { cause: error });
  const failure = innermost(error);
  const { name, type } = failure;
  if (name === 'KafkaJSProtocolError' && type !== undefined)
    return new RequestFailure('refused', { type, cause: error });
  return isOfConnection(failure) ? new RequestFailure(without, { cause: error }) : error;
}
