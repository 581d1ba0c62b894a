import { isUntrusted, refusesOurs, RollcallError, systemCode, type ErrorCode } from '../errors.ts';
import { causesOf, innermost, type KafkaFailure } from './kafka-failure.ts';

// The code and the text of the error for each failure of Kafka. The code decides how Rollcall reacts to the error
// (errors.ts). Which requests are sent again after a failure is decided in transactional-producer.ts (`PASSING`).

/**
 * Describes a failure by its message, if kafkajs or {@link RequestFailure} wrote the message, and otherwise by its
 * code. Other messages are not safe: a broker's answer to a login may quote the login, and the error of a decoder may
 * quote the data (invariant 9).
 */
function reasonOf(failure: KafkaFailure): string {
  if (isOfLibrary(failure) && !isLogin(failure)) return failure.message;
  return systemCode(failure) ?? failure.type ?? `an unexpected error (${failure.name})`;
}

/** Whether its text is that of kafkajs, or of a `RequestFailure`. */
function isOfLibrary({ name }: KafkaFailure): boolean {
  return name.startsWith('KafkaJS') || name === 'RequestFailure';
}

function isLogin(failure: KafkaFailure): boolean {
  return failure.name === 'KafkaJSSASLAuthenticationError' || failure.type === 'SASL_AUTHENTICATION_FAILED';
}

interface Explanation {
  readonly code: ErrorCode;
  /** `doing`: what could not be done because of the failure. */
  readonly message: (doing: string, failure: KafkaFailure) => string;
  readonly remedy: string;
}

/** The error names no right: before each session, and in "rollcall check", rights.ts lists the missing ones. */
const RIGHT_MISSING: Explanation = {
  code: 'KAFKA_REFUSED',
  message: (doing, failure) => `Kafka denies this user a right${on(failure)} while ${doing}: ${failure.type}`,
  remedy:
    '"rollcall check" names each right that "rollcall run" lacks, and how to grant it. "rollcall help operations#rights" also lists what "rollcall topics" needs.',
};

/** For a request that does not fit the cluster. */
const notAllowed = (remedy: string): Explanation => ({
  code: 'KAFKA_REFUSED',
  message: (doing, { type }) => `Kafka refused a request while ${doing}: ${type}`,
  remedy,
});

const TOO_FEW_IN_SYNC: Explanation = {
  code: 'KAFKA_UNREACHABLE',
  message: (doing, failure) => `Too few replicas${on(failure)} are in sync (${doing}): ${failure.type}`,
  remedy:
    'Start the brokers that are down. Rollcall continues by itself once min.insync.replicas of them have caught up.',
};

const NOT_ENDED: Explanation = {
  code: 'KAFKA_UNREACHABLE',
  message: (doing, { type }) =>
    `Kafka has not ended the last transaction of the tenant yet (${doing}): ${type}`,
  remedy:
    'Kafka writes the end of a transaction to each partition of the transaction. For this, min.insync.replicas of the replicas must be in sync. Start the brokers that are down; Rollcall then continues by itself.',
};

const FENCED: Explanation = {
  code: 'KAFKA_FENCED',
  message: (doing, { type }) =>
    `Kafka no longer accepts this process as the writer of the tenant: ${type} while ${doing}`,
  remedy:
    'Another process has taken the tenant over, or a transaction was open for longer than a minute. Rollcall reads in Kafka who owns the tenant, and continues if it is this process.',
};

/** By the type of an error in Kafka's protocol. */
const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  CLUSTER_AUTHORIZATION_FAILED: RIGHT_MISSING,
  TOPIC_AUTHORIZATION_FAILED: RIGHT_MISSING,
  GROUP_AUTHORIZATION_FAILED: RIGHT_MISSING,
  TRANSACTIONAL_ID_AUTHORIZATION_FAILED: RIGHT_MISSING,
  INVALID_PARTITIONS: notAllowed('Set kafka.partitions to a number that the cluster allows.'),
  INVALID_CONFIG: notAllowed(
    'The brokers do not accept a setting of a topic: their log names it. Have them accept it: "rollcall help contract#topics" says which settings Rollcall needs.',
  ),
  POLICY_VIOLATION: notAllowed(
    'A policy of the brokers forbids it: their log says why. Have the policy allow it (create.topic.policy.class.name, alter.config.policy.class.name), or set kafka.partitions and kafka.replicationFactor to what it allows.',
  ),
  INVALID_SESSION_TIMEOUT: notAllowed(
    'Set kafka.session to a time between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers.',
  ),
  NOT_ENOUGH_REPLICAS: TOO_FEW_IN_SYNC,
  NOT_ENOUGH_REPLICAS_AFTER_APPEND: TOO_FEW_IN_SYNC,
  CONCURRENT_TRANSACTIONS: NOT_ENDED,
  INVALID_PRODUCER_EPOCH: FENCED,
  PRODUCER_FENCED: FENCED,
  INVALID_PRODUCER_ID_MAPPING: FENCED,
  INVALID_TXN_STATE: FENCED,
  INVALID_REPLICATION_FACTOR: {
    code: 'KAFKA_REFUSED',
    message: (doing) => `Kafka has fewer brokers than kafka.replicationFactor: ${doing} failed`,
    remedy:
      'Set kafka.replicationFactor to at most the number of brokers (1 for a single one), or start the missing brokers.',
  },
  UNSUPPORTED_SASL_MECHANISM: {
    code: 'KAFKA_REFUSED',
    message: (doing) => `Kafka does not offer the mechanism that kafka.sasl.mechanism names (${doing})`,
    remedy:
      'Set kafka.sasl.mechanism to one that this listener offers (sasl.enabled.mechanisms of the brokers), or kafka.brokers to the port of another listener.',
  },
  INVALID_TIMESTAMP: {
    code: 'KAFKA_REFUSED',
    message: (doing) =>
      `Kafka refused records while ${doing}, because the clock of this machine or of a broker is wrong`,
    remedy:
      'Correct the clock of this machine or of the brokers: they refuse records that are more than an hour in the future (message.timestamp.after.max.ms). Rollcall then continues by itself.',
  },
  MESSAGE_TOO_LARGE: {
    code: 'KAFKA_REFUSED',
    message: (doing) => `Kafka refused a batch of records as too large while ${doing}`,
    remedy:
      'Raise message.max.bytes of the brokers, or max.message.bytes of the topics, to its default of 1048588. If it already has this value, a single record is larger: raise it further.',
  },
  UNKNOWN_TOPIC_OR_PARTITION: {
    code: 'KAFKA_TOPIC_MISSING',
    message: (doing, { topic }) =>
      `${topic === undefined ? 'A topic is missing in Kafka' : `Kafka has no topic ${topic}`} (${doing})`,
    remedy:
      'Rollcall creates the topic at the next start. If its data was deleted, Rollcall publishes everything again.',
  },
};

/**
 * Explains a failure. `doing` completes "Kafka failed while …". It decides by kafkajs' error names and protocol types, never
 * by message text.
 */
export function kafkaError(error: unknown, doing: string): RollcallError {
  // Rollcall's own error, which was thrown within kafkajs or a transaction.
  const own = causesOf(error).find((each) => each instanceof RollcallError);
  if (own !== undefined) return own;
  const failure = innermost(error);
  const { code, message, remedy } = explanationOf(failure);
  return new RollcallError(code, message(doing, failure), { remedy, cause: error });
}

function explanationOf(failure: KafkaFailure): Explanation {
  if (isLogin(failure))
    return {
      code: 'KAFKA_REFUSED',
      message: (doing) => `Kafka refused the credentials while ${doing}`,
      remedy: 'Check kafka.sasl.mechanism, username and password.',
    };
  const { type = '' } = failure;
  if (Object.hasOwn(EXPLANATIONS, type)) return EXPLANATIONS[type] as Explanation;
  return {
    code: 'KAFKA_UNREACHABLE',
    message: (doing) => `Kafka failed while ${doing}: ${reasonOf(failure)}`,
    remedy: refusesOurs(failure.code)
      ? 'Check kafka.ssl.cert and key: the brokers do not accept the certificate of this client, or require one.'
      : isUntrusted(failure.code)
        ? 'Use host names that are in the certificates of the brokers, and set kafka.ssl.ca to the authority that issued the certificates.'
        : 'Check kafka.brokers and kafka.ssl. Check that DNS knows the host names, that the brokers are up, and that their advertised listeners are reachable from here.',
  };
}

/** Names the topic, where the failure does. */
function on({ topic }: KafkaFailure): string {
  return topic === undefined ? '' : ` on ${topic}`;
}

/**
 * Explains the failure of a commit. If Kafka has refused the commit, {@link kafkaError} explains the failure. After any
 * other failure, the outcome of the commit is not known.
 */
export function commitError(error: unknown, doing: string): RollcallError {
  const refusal = kafkaError(error, doing);
  if (refusal.code === 'KAFKA_REFUSED') return refusal;
  const failure = innermost(error);
  const message = `Kafka neither confirmed nor refused a commit (${doing}): ${failure.type ?? reasonOf(failure)}`;
  return new RollcallError('KAFKA_OUTCOME_UNKNOWN', message, {
    remedy:
      'There is nothing to do: Rollcall reads the outcome from Kafka and continues from there. If another process owns the tenant by then, that process does so.',
    cause: error,
  });
}

/** Records that were committed are no longer there: their topic was deleted and recreated, emptied, or cut off. */
export class RecordsLost extends RollcallError {
  readonly topic: string;

  constructor(topic: string) {
    super('KAFKA_RECORDS_LOST', `${topic} holds fewer records than were committed to it`, {
      remedy:
        'Rollcall publishes the missing records again by itself. Find out what removed them: a deleted topic, deleted records, or a retention that Rollcall did not set.',
    });
    this.topic = topic;
  }
}
