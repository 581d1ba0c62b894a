import { countOf } from '../../core/words.ts';
import { createRegistryInspection, type SubjectFinding } from '../../log/inspect-registry.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import {
  createMissingTopics,
  inspectTopics,
  topicMismatch,
  type TopicFinding,
} from '../../log/manage-topics.ts';
import { readSchemaFiles } from '../../log/schema-files.ts';
import { STATE_TOPIC } from '../../model/collections.ts';
import { redisConnection, registryConnection, type Assembly } from '../../session/assemble.ts';
import type { StartedTenant } from '../../session/tenant.ts';
import { inspectRedis, type RedisFacts } from '../../state/redis-store.ts';
import { withAdmin } from '../with-assembly.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

/** Checks Kafka: connection, credentials, number of brokers, topics against the contract. Creates and alters nothing. */
export async function* checkKafka(
  assembly: Assembly,
  tenants: readonly StartedTenant[],
): AsyncGenerator<Finding> {
  const { brokers, sasl, replicationFactor } = assembly.config.kafka;
  yield* await withAdmin({ assembly }, async (admin) => {
    const as = sasl === undefined ? '' : `, as ${sasl.username}`;
    const findings = [ok('connection', `${brokers.join(', ')}${as}`)];
    try {
      const wanted = tenants.flatMap(({ topics }) => topics);
      const topics = await inspectTopics(admin, wanted);
      const missing = topics.filter(({ exists }) => !exists);
      const cluster = await admin.describeCluster();
      const isMissing = missing.length > 0;
      findings.push(
        brokersFinding(cluster.brokers.length, replicationFactor, isMissing),
        ...topicFindings(topics),
      );
      if (isMissing && cluster.brokers.length >= replicationFactor) {
        // The broker tests rights and policies (KIP-4).
        await createMissingTopics(admin, topics, { validateOnly: true });
        findings.push(
          ok('rights', 'the missing topics may be created; the right to write is tested at the start only'),
        );
      }
    } catch (error) {
      findings.push(failureOf('topics', kafkaError(error, 'asking for brokers and topics')));
    }
    return findings;
  });
}

/** The number of brokers matters only for topics that do not exist yet. */
export function brokersFinding(brokers: number, replicationFactor: number, anyMissing: boolean): Finding {
  const has = countOf(brokers, 'broker');
  if (brokers >= replicationFactor) return ok('brokers', `${has}, replication factor ${replicationFactor}`);
  return (anyMissing ? failure : warning)(
    'brokers',
    `${has}, but kafka.replicationFactor is ${replicationFactor}: new topics cannot be created`,
    `Set kafka.replicationFactor to at most ${brokers}, or add brokers.`,
  );
}

/** One finding for all topics that match the contract, and one for each that differs. */
export function topicFindings(topics: readonly TopicFinding[]): Finding[] {
  const differing = topics.filter(({ differences }) => differences.length > 0);
  const missing = topics.filter(({ exists }) => !exists).length;
  const fitting = topics.length - missing - differing.length;
  const parts = [
    ...(fitting > 0 ? [`${fitting} as in the contract`] : []),
    ...(missing > 0 ? [`${missing} will be created at the start`] : []),
  ];
  return [
    ...(parts.length > 0 ? [ok('topics', parts.join(', '))] : []),
    ...differing.map((topic) =>
      failure(
        'topics',
        `${topic.topic.name}: ${topic.differences.join('; ')}`,
        topicMismatch([topic])?.remedy ?? '',
      ),
    ),
  ];
}

/** Checks the registry: connection, compatibility levels, and schemas. Registers nothing. */
export async function* checkRegistry(
  { config }: Assembly,
  tenants: readonly StartedTenant[],
  signal: AbortSignal,
): AsyncGenerator<Finding> {
  const inspection = createRegistryInspection(registryConnection(config.registry));
  const schemas = readSchemaFiles();
  const count = await inspection.subjectCount(signal);
  yield ok('connection', `${config.registry.url}, ${countOf(count, 'subject')}`);
  for (const tenant of tenants) {
    const topics = tenant.topics.filter(({ suffix }) => suffix !== STATE_TOPIC);
    const subjects = await Promise.all(
      topics.map(({ name, suffix }) =>
        inspection.subject(`${name}-value`, schemas.get(suffix)?.schema ?? {}, signal),
      ),
    );
    yield* subjectFindings(`schemas of ${tenant.config.id}`, subjects);
  }
}

/** One finding for all subjects that fit, and one for each problem of others. */
export function subjectFindings(subject: string, subjects: readonly SubjectFinding[]): Finding[] {
  const wrong = subjects.flatMap(({ problems }) => problems.map((error) => failureOf(subject, error)));
  const registered = subjects.filter((each) => each.registered);
  if (wrong.length > 0) return wrong;
  const compared = registered.filter(({ isCompared }) => isCompared).length;
  const [unknown, missing] = [registered.length - compared, subjects.length - registered.length];
  const parts = [
    ...(compared > 0 ? [`${compared} registered and compatible`] : []),
    ...(unknown > 0 ? [`${unknown} registered, which this registry compares only when it registers`] : []),
    ...(missing > 0 ? [`${missing} to be registered at the start`] : []),
  ];
  return [ok(subject, parts.join(', '))];
}

const OLDEST_REDIS = 6.2;

/** Checks Redis: connection, version, eviction policy, memory and rights. Leaves nothing there. */
export async function* checkRedis({ config, store }: Assembly): AsyncGenerator<Finding> {
  const { redis } = config;
  if (redis === undefined) {
    yield ok(
      'index',
      'no Redis is configured: the index lives in memory and is rebuilt from the topics at each start',
    );
    return;
  }
  const facts = await inspectRedis(redisConnection(redis));
  yield* redisFindings(facts);
  // The store refuses other policies before it tests its rights, by writing and deleting a key of its own.
  if ((facts.evictionPolicy ?? 'noeviction') !== 'noeviction') return;
  try {
    await store.ready();
    yield ok('rights', 'scripts, reading and writing are permitted');
  } catch (error) {
    yield failureOf('rights', error);
  }
}

/** Findings from what Redis reports about itself. */
export function redisFindings({ address, version, evictionPolicy }: RedisFacts): Finding[] {
  const reported = (subject: string, found: string | null, isRight: boolean, remedy: string): Finding => {
    if (found === null) return warning(subject, 'Redis does not report it', remedy);
    return isRight ? ok(subject, found) : failure(subject, found, remedy);
  };
  const isNew = Number.parseFloat(version ?? '') >= OLDEST_REDIS;
  const isKept = evictionPolicy === 'noeviction';
  const policy = evictionPolicy === null || isKept ? evictionPolicy : `maxmemory-policy is ${evictionPolicy}`;
  const remedy =
    'Set maxmemory-policy to noeviction, or give Rollcall its own Redis in redis.url: it may drop parts of the index when memory runs short.';
  return [
    ok('connection', address),
    reported('version', version, isNew, 'Rollcall needs Redis 6.2 or later, or one compatible with it.'),
    reported('eviction', policy, isKept, remedy),
  ];
}
