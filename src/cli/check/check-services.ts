import type { Admin } from 'kafkajs';
import { countOf, formatCount } from '../../core/words.ts';
import { createRegistryInspection, type SubjectFinding } from '../../log/inspect-registry.ts';
import { kafkaError } from '../../log/kafka-errors.ts';
import { inspectTopics, topicMismatch, type TopicFinding } from '../../log/manage-topics.ts';
import { readSchemaFiles } from '../../log/schema-files.ts';
import { STATE_TOPIC } from '../../model/collections.ts';
import type { AssembledTenant, Assembly } from '../../session/assemble.ts';
import { redisConnection, registryConnection } from '../../session/clients.ts';
import { inspectRedis, type RedisFacts } from '../../state/inspect-redis.ts';
import { withAdmin } from '../with-assembly.ts';
import { failure, failureOf, ok, warning, type Finding } from './finding.ts';

/** Checks Kafka: connection, credentials, number of brokers, topics against the contract. Creates and alters nothing. */
export async function* checkKafka(
  assembly: Assembly,
  tenants: readonly AssembledTenant[],
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
      const hasEnough = cluster.brokers.length >= replicationFactor;
      findings.push(
        brokersFinding(cluster.brokers.length, { replicationFactor, anyMissing: missing.length > 0 }),
        ...topicFindings(topics),
      );
      if (missing.length > 0 && hasEnough) findings.push(await rightToCreate(admin, missing));
    } catch (error) {
      findings.push(failureOf('topics', kafkaError(error, 'asking for brokers and topics')));
    }
    return findings;
  });
}

/** The number of brokers matters only for topics that do not exist yet. */
export function brokersFinding(
  brokers: number,
  { replicationFactor, anyMissing }: { replicationFactor: number; anyMissing: boolean },
): Finding {
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

/** Asks the broker whether it would create the topics (KIP-4, validate only), which tests rights and policies. */
async function rightToCreate(admin: Admin, missing: readonly TopicFinding[]): Promise<Finding> {
  const topics = missing.map(({ topic: { name, partitions, replicationFactor } }) => ({
    topic: name,
    numPartitions: partitions,
    replicationFactor,
  }));
  try {
    await admin.createTopics({ validateOnly: true, waitForLeaders: false, topics });
    return ok('rights', 'the missing topics may be created; the right to write is tested at the start only');
  } catch (error) {
    return failureOf('rights', kafkaError(error, 'asking whether the missing topics may be created'));
  }
}

/** Checks the registry: connection, compatibility levels, and schemas. Registers nothing. */
export async function* checkRegistry(
  { config }: Assembly,
  tenants: readonly AssembledTenant[],
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
  const unknown = registered.filter(({ isCompared }) => !isCompared).length;
  if (unknown > 0) {
    const text = `${countOf(unknown, 'schema')} not checked for compatibility: this registry can check only by registering`;
    wrong.push(warning(subject, text, 'The check happens when "rollcall run" registers them.'));
  }
  if (wrong.length > 0) return wrong;
  const missing = subjects.length - registered.length;
  const parts = [
    ...(registered.length > 0 ? [`${registered.length} registered and compatible`] : []),
    ...(missing > 0 ? [`${missing} to be registered at the start`] : []),
  ];
  return [ok(subject, parts.join(', '))];
}

const OLDEST_REDIS = 6.2;
const REDIS_WANTED = 'Rollcall needs Redis 6.2 or later, or one compatible with it.';
const MEBIBYTE = 1024 * 1024;
const NEARLY_FULL = 0.9;

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
export function redisFindings({
  address,
  version,
  evictionPolicy,
  usedBytes,
  maxBytes,
}: RedisFacts): Finding[] {
  const findings = [ok('connection', address)];
  if (version === null) findings.push(warning('version', 'Redis does not report it', REDIS_WANTED));
  else if (Number.parseFloat(version) < OLDEST_REDIS)
    findings.push(failure('version', `${version} is too old`, REDIS_WANTED));
  else findings.push(ok('version', version));
  if (evictionPolicy === null)
    findings.push(
      warning('eviction', 'Redis does not report its maxmemory-policy', 'Make sure that it is noeviction.'),
    );
  else if (evictionPolicy === 'noeviction') findings.push(ok('eviction', evictionPolicy));
  else
    findings.push(
      failure(
        'eviction',
        `maxmemory-policy is ${evictionPolicy}: Redis may drop parts of the index when memory runs short`,
        'Set maxmemory-policy to noeviction, or give Rollcall its own Redis in redis.url.',
      ),
    );
  if (usedBytes === null) return findings;
  const [used, most] = [usedBytes, maxBytes ?? 0].map((bytes) => formatCount(Math.ceil(bytes / MEBIBYTE)));
  if (!maxBytes) return [...findings, ok('memory', `${used} MiB used, no limit of its own`)];
  const text = `${used} of ${most} MiB`;
  const isFull = usedBytes > maxBytes * NEARLY_FULL;
  const remedy = 'Raise maxmemory: the index takes some 140 bytes per row.';
  return [...findings, isFull ? warning('memory', text, remedy) : ok('memory', text)];
}
