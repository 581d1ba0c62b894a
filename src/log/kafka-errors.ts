import { RollcallError } from '../errors.ts';

const MAX_CAUSES = 5;

interface KafkaFailure {
  readonly name: string;
  readonly message: string;
  readonly type?: string | undefined;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[] | undefined;
}

/** The innermost failure: kafkajs wraps what it retried in KafkaJSNumberOfRetriesExceeded, and gathers those of several topics. */
export function innermost(error: unknown): KafkaFailure {
  let current = error as KafkaFailure;
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    const cause = (current?.cause ?? current?.errors?.[0]) as KafkaFailure | undefined;
    if (cause === undefined || cause === null || typeof cause !== 'object') break;
    current = cause;
  }
  return current ?? { name: 'Error', message: String(error) };
}

/** One of our own errors, thrown while kafkajs handed over what it had read; null when there is none. */
function ownErrorIn(error: unknown): RollcallError | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    if (current instanceof RollcallError) return current;
    current = current.cause;
  }
  return null;
}

/**
 * What a failure says of itself. kafkajs and the system write their own texts; a broker's answer to a login, and what a
 * decoder throws while kafkajs hands over a batch, may quote what they choke on (invariant 9).
 */
function reasonOf(failure: KafkaFailure): string {
  if (failure.name.startsWith('KafkaJS') && !isLogin(failure)) return failure.message;
  const { code } = failure;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return code;
  return failure.type ?? `something unforeseen (${failure.name})`;
}

function isLogin(failure: KafkaFailure): boolean {
  return failure.name === 'KafkaJSSASLAuthenticationError' || failure.type === 'SASL_AUTHENTICATION_FAILED';
}

const AUTHORISATION_TYPES = new Set([
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_AUTHORIZATION_FAILED',
  'CLUSTER_AUTHORIZATION_FAILED',
  'TRANSACTIONAL_ID_AUTHORIZATION_FAILED',
]);

/**
 * What a failure outside a transaction means. `doing` completes "Kafka failed while …".
 * Decided by kafkajs' error names and protocol types, never by message text.
 */
export function kafkaError(error: unknown, doing: string): RollcallError {
  const own = ownErrorIn(error);
  if (own !== null) return own;
  const failure = innermost(error);
  if (isLogin(failure)) {
    return new RollcallError('KAFKA_REFUSED', `Kafka refused the credentials while ${doing}`, {
      remedy: 'Check kafka.sasl.mechanism, username and password.',
      cause: error,
    });
  }
  if (failure.type !== undefined && AUTHORISATION_TYPES.has(failure.type)) {
    return new RollcallError(
      'KAFKA_REFUSED',
      `Kafka denied the right to go on while ${doing}: ${failure.type}`,
      {
        remedy:
          'Grant this user READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS and CREATE on topics of the prefix, READ on groups of the prefix, and WRITE on transactional ids of the prefix.',
        cause: error,
      },
    );
  }
  if (failure.type === 'INVALID_REPLICATION_FACTOR') {
    return new RollcallError(
      'KAFKA_UNREACHABLE',
      `Kafka has fewer brokers than replicas asked for while ${doing}`,
      {
        remedy:
          'Start the brokers that are missing, or set kafka.replicationFactor to at most their number: 1 for a single one.',
        cause: error,
      },
    );
  }
  if (failure.type === 'INVALID_TIMESTAMP') {
    return new RollcallError('KAFKA_REFUSED', `Kafka refused the time of this machine while ${doing}`, {
      remedy:
        'Set the clock of this machine right, or those of the brokers: they take no record from more than an hour ahead (message.timestamp.after.max.ms). Rollcall then goes on by itself.',
      cause: error,
    });
  }
  if (failure.type === 'UNKNOWN_TOPIC_OR_PARTITION') {
    return new RollcallError('KAFKA_TOPIC_MISSING', `A topic is missing in Kafka while ${doing}`, {
      remedy:
        'It is created at the next start; if its data was deleted on purpose, everything is published again.',
      cause: error,
    });
  }
  return new RollcallError('KAFKA_UNREACHABLE', `Kafka failed while ${doing}: ${reasonOf(failure)}`, {
    remedy:
      'Check kafka.brokers, that the brokers are up, and that their advertised listeners can be reached from here.',
    cause: error,
  });
}

/** What any failure inside a transaction means: nothing is known of its outcome. */
export function outcomeUnknown(error: unknown, doing: string): RollcallError {
  const failure = innermost(error);
  const detail = failure.type ?? reasonOf(failure);
  return new RollcallError(
    'KAFKA_OUTCOME_UNKNOWN',
    `The outcome of a transaction is unknown (${doing}): ${detail}`,
    {
      remedy: 'Nothing to do: Rollcall reads from Kafka what happened and goes on from there.',
      cause: error,
    },
  );
}

/** A batch that the broker does not take: trying again would not help. */
export function tooLarge(error: unknown, collection: string): RollcallError {
  return new RollcallError('KAFKA_REFUSED', `Kafka refused records of ${collection} as too large`, {
    remedy:
      'Raise message.max.bytes of the brokers, or max.message.bytes of the topic, to its default of 1048588 or more.',
    cause: error,
  });
}
