import { expect, it } from 'vitest';
import { describeError } from '../../../src/errors.ts';
import { createRegistryInspection } from '../../../src/log/registry/inspect-registry.ts';
import { commitError, kafkaError } from '../../../src/log/kafka-errors.ts';
import { rightsMissing } from '../../../src/log/rights.ts';
import { RequestFailure } from '../../../src/log/transaction-brokers.ts';
import { Registry } from '../../../src/log/registry/registry.ts';
import { safeError } from '../../../src/telemetry/safe-error.ts';
import { sendJson, serve } from '../hub/support/scripted-hub.ts';

const SCHEMA = { type: 'record', name: 'R', fields: [] } as const;
const CANARY = 'kari-nordmann-01017012345';
const BODY = JSON.stringify({ error_code: 40901, message: CANARY, compatibilityLevel: CANARY });
const LEVEL = JSON.stringify({ compatibilityLevel: 'FULL_TRANSITIVE' });

const shownOf = (error: unknown): string =>
  `${describeError(error)} ${JSON.stringify(safeError(error))} ${JSON.stringify(error)}`;

it.each([
  ...[200, 301, 400, 401, 403, 404, 409, 422, 500].map((status) => [status, BODY, BODY] as const),
  [200, LEVEL, CANARY],
] as const)('free text of a registry with HTTP %i appears in no error', async (status, level, body) => {
  await using server = await serve(({ path }, response) => {
    const headers = { location: `/${CANARY}` };
    sendJson(response, path.startsWith('/config') ? level : body, { status, headers });
  });
  const registry = new Registry({ url: server.origin });
  const inspection = createRegistryInspection({ url: server.origin });
  const attempts = [
    registry.register('s', SCHEMA),
    registry.decode(Buffer.from([0, 0, 0, 0, 1, 2])),
    inspection.subject('s', {}, new AbortController().signal).then(({ problems }) => {
      throw new AggregateError(problems);
    }),
  ];
  for (const attempt of await Promise.allSettled(attempts)) {
    if (attempt.status === 'fulfilled') throw new Error('it was taken');
    const reason: unknown = attempt.reason;
    for (const error of reason instanceof AggregateError ? reason.errors : [reason])
      expect(shownOf(error)).not.toContain(CANARY);
  }
});

const named = (name: string, cause?: Error): Error => Object.assign(new Error(CANARY, { cause }), { name });
it.each([
  ['a broker that refuses a login', named('KafkaJSSASLAuthenticationError')],
  ['a decoder', new Error(CANARY)],
  ['a decoder whose error kafkajs wraps', named('KafkaJSNumberOfRetriesExceeded', new Error(CANARY))],
])('text of %s appears in no error', (_, error) => {
  for (const explained of [kafkaError(error, 'reading'), commitError(error, 'users 1')])
    expect(shownOf(explained)).not.toContain(CANARY);
});

it('an error of kafkajs itself keeps its text, which names a host name that cannot be resolved', () => {
  const text = 'Connection error: getaddrinfo ENOTFOUND a';
  const error = Object.assign(new Error(text), { name: 'KafkaJSConnectionError' });
  expect(kafkaError(error, 'reading')).toMatchObject({
    message: `Kafka failed while reading: ${text}`,
    remedy: expect.stringContaining('that DNS knows the host names') as string,
  });
});

it('a replication factor above the number of brokers is named with its setting', () => {
  const failure = new RequestFailure('refused', {
    type: 'INVALID_REPLICATION_FACTOR',
    topic: 'p.north.orgs',
  });
  expect(kafkaError(failure, 'creating topics (p.north.orgs)')).toMatchObject({
    code: 'KAFKA_REFUSED',
    message: 'Kafka has fewer brokers than kafka.replicationFactor: creating topics (p.north.orgs) failed',
    remedy: expect.stringContaining('Set kafka.replicationFactor'),
  });
});

it.each([
  ['INVALID_PARTITIONS', 'Set kafka.partitions'],
  ['INVALID_SESSION_TIMEOUT', 'Set kafka.session'],
  ['INVALID_CONFIG', 'rollcall help contract#topics'],
  ['POLICY_VIOLATION', 'create.topic.policy.class.name'],
])('a request that Kafka refuses with %s is explained with its own remedy', (type, remedy) => {
  expect(kafkaError(new RequestFailure('refused', { type }), 'creating topics')).toMatchObject({
    code: 'KAFKA_REFUSED',
    message: `Kafka refused a request while creating topics: ${type}`,
    remedy: expect.stringContaining(remedy) as string,
  });
});

it.each([
  ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'KAFKA_REFUSED', 'Kafka denies this user a right'],
  ['MESSAGE_TOO_LARGE', 'KAFKA_REFUSED', 'Kafka refused a batch of records as too large'],
  ['REQUEST_TIMED_OUT', 'KAFKA_OUTCOME_UNKNOWN', 'Kafka neither confirmed nor refused a commit'],
])('a commit that Kafka answers with %s fails with %s', (type, code, says) => {
  const error = commitError(new RequestFailure('refused', { type }), 'committing');
  expect(error).toMatchObject({ code, message: expect.stringContaining(says) });
});

it.each(['CLUSTER_AUTHORIZATION_FAILED', 'TOPIC_AUTHORIZATION_FAILED', 'GROUP_AUTHORIZATION_FAILED'])(
  'the remedy for %s names the command that names each missing right',
  (type) => {
    const error = kafkaError(new RequestFailure('refused', { type }), 'asking');
    expect(error.code).toBe('KAFKA_REFUSED');
    expect(error.message).toBe(`Kafka denies this user a right while asking: ${type}`);
    expect(error.remedy).toContain('"rollcall check" names');
  },
);

it('one command grants the missing rights on similar resources, by the common part of their names', () => {
  const topics = ['p.q.north.absence-changes', 'p.q.north.absences'];
  const groups = ['p.q.workers', 'p.q.others'];
  const { message, remedy } = rightsMissing([
    { operation: 'Read', on: 'topic', names: topics },
    { operation: 'Write', on: 'topic', names: topics },
    { operation: 'Read', on: 'group', names: groups },
  ]);
  expect(message).toBe(
    `Kafka denies this user Read, Write on the topics ${topics.join(', ')}; Read on the groups ${groups.join(', ')}`,
  );
  const [, ...commands] = remedy.split('kafka-acls.sh … --add ');
  expect(commands).toEqual([
    '--resource-pattern-type prefixed --topic p.q.north. --operation Read --operation Write --allow-principal User:<user>; ',
    '--resource-pattern-type prefixed --group p.q. --operation Read --allow-principal User:<user>',
  ]);
});
