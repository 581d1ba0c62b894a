import { isUntrusted, RollcallError, systemCode, type ErrorCode } from '../errors.ts';

const MAX_CAUSES = 5;

interface KafkaFailure {
  readonly name: string;
  readonly message: string;
  readonly type?: string | undefined;
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

/** Returns a RollcallError that our own handler threw within kafkajs; null when there is none. */
function ownErrorIn(error: unknown): RollcallError | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof RollcallError) return current;
    current = current.cause;
  }
  return null;
}

/**
 * Describes a failure by a text of kafkajs or a code. Other texts are not safe: a broker's answer to a login, and the
 * error of a decoder, may quote their input (invariant 9).
 */
function reasonOf(failure: KafkaFailure): string {
  if (failure.name.startsWith('KafkaJS') && !isLogin(failure)) return failure.message;
  return systemCode(failure) ?? failure.type ?? `an unexpected error (${failure.name})`;
}

function isLogin(failure: KafkaFailure): boolean {
  return failure.name === 'KafkaJSSASLAuthenticationError' || failure.type === 'SASL_AUTHENTICATION_FAILED';
}

/**
 * Explains a failure outside a transaction. `doing` completes "Kafka failed while …".
 * It decides by kafkajs' error names and protocol types, never by message text.
 */
export function kafkaError(error: unknown, doing: string): RollcallError {
  const own = ownErrorIn(error);
  if (own !== null) return own;
  const failure = innermost(error);
  const explained = (code: ErrorCode, message: string, remedy: string): RollcallError =>
    new RollcallError(code, message, { remedy, cause: error });
  if (isLogin(failure))
    return explained(
      'KAFKA_REFUSED',
      `Kafka refused the credentials while ${doing}`,
      'Check kafka.sasl.mechanism, username and password.',
    );
  switch (failure.type) {
    case 'TOPIC_AUTHORIZATION_FAILED':
    case 'GROUP_AUTHORIZATION_FAILED':
    case 'CLUSTER_AUTHORIZATION_FAILED':
    case 'TRANSACTIONAL_ID_AUTHORIZATION_FAILED':
      return explained(
        'KAFKA_REFUSED',
        `Kafka denied authorization while ${doing}: ${failure.type}`,
        'Grant this user READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS and CREATE on topics of the prefix (to purge or recreate them also DELETE), READ on groups of the prefix, and WRITE on transactional ids of the prefix.',
      );
    case 'INVALID_REPLICATION_FACTOR':
      return explained(
        'KAFKA_REFUSED',
        `Kafka has fewer brokers than kafka.replicationFactor: ${doing} failed`,
        'Set kafka.replicationFactor to at most the number of brokers (1 for a single one), or start the missing brokers.',
      );
    case 'INVALID_PARTITIONS':
    case 'INVALID_CONFIG':
    case 'POLICY_VIOLATION':
    case 'INVALID_SESSION_TIMEOUT':
      return explained(
        'KAFKA_REFUSED',
        `Kafka refused while ${doing}: ${failure.type}`,
        'Check kafka.partitions, kafka.replicationFactor, kafka.session, and the policies and limits of the cluster.',
      );
    case 'INVALID_TIMESTAMP':
      return explained(
        'KAFKA_REFUSED',
        `Kafka refused the clock time of this machine while ${doing}`,
        'Correct the clock of this machine or of the brokers: they accept no record from more than an hour ahead (message.timestamp.after.max.ms). Rollcall then continues by itself.',
      );
    case 'UNKNOWN_TOPIC_OR_PARTITION':
      return explained(
        'KAFKA_TOPIC_MISSING',
        `A topic is missing in Kafka while ${doing}`,
        'Rollcall creates the topic at the next start. If its data was deleted, Rollcall publishes everything again.',
      );
    default:
      return explained(
        'KAFKA_UNREACHABLE',
        `Kafka failed while ${doing}: ${reasonOf(failure)}`,
        isUntrusted(failure.code)
          ? 'Use host names that are in the certificates of the brokers, and set kafka.ssl.ca to their authority.'
          : 'Check kafka.brokers, that the brokers are up, that their advertised listeners are reachable from here, and kafka.ssl.',
      );
  }
}

/** The error for any failure within a transaction: its outcome is unknown. */
export function outcomeUnknown(error: unknown, doing: string): RollcallError {
  const failure = innermost(error);
  const detail = failure.type ?? reasonOf(failure);
  const message = `Kafka did not say whether it committed a transaction (${doing}): ${detail}`;
  return new RollcallError('KAFKA_OUTCOME_UNKNOWN', message, {
    remedy:
      'Rollcall reads the outcome from Kafka and continues from there, unless another process owns the tenant by then.',
    cause: error,
  });
}

/** The error for a batch that the broker does not accept: a retry would not help. */
export function tooLarge(error: unknown, collection: string): RollcallError {
  const message = `Kafka refused a batch of records as too large, in a transaction of ${collection}`;
  return new RollcallError('KAFKA_REFUSED', message, {
    remedy:
      'Raise message.max.bytes of the brokers, or max.message.bytes of the topics, to its default of 1048588. If it is that already, a single record is larger: raise it further.',
    cause: error,
  });
}
