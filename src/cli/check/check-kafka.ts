import type { Admin } from 'kafkajs';
import type { Config } from '../../config.ts';
import type { Assembly } from '../../session/assemble.ts';
import type { StartedTenant } from '../../session/tenant.ts';
import { innermost, kafkaError } from '../../log/kafka-errors.ts';
import { inspectTopics, topicMismatch, type TopicFinding } from '../../log/manage-topics.ts';
import { countOf } from '../../core/words.ts';
import { withAdmin } from '../with-assembly.ts';
import { failure, failureOf, ok, warning, type Finding, type Section } from './finding.ts';

/** Checks Kafka: connection, credentials, number of brokers, topics against the contract. Creates and alters nothing. */
export async function checkKafka(assembly: Assembly, tenants: readonly StartedTenant[]): Promise<Section> {
  const { kafka } = assembly.config;
  const title = 'Kafka';
  const findings: Finding[] = [];
  try {
    await withAdmin({ assembly, silent: true }, async (admin) => {
      const as = kafka.sasl === undefined ? '' : `, as ${kafka.sasl.username}`;
      findings.push(ok('connection', `${kafka.brokers.join(', ')}${as}`));
      const inspected = await inspectTopics(
        admin,
        tenants.flatMap(({ topics }) => topics),
      ).catch((error: unknown) => error);
      const topics = Array.isArray(inspected) ? (inspected as TopicFinding[]) : null;
      const missing = topics?.filter(({ exists }) => !exists) ?? [];
      const anyMissing = missing.length > 0;
      const brokers = await brokersFinding(admin, { config: assembly.config, anyMissing });
      findings.push(brokers);
      findings.push(...(topics === null ? [failureOf('topics', inspected)] : topicFindings(topics)));
      // With too few brokers this would only repeat the finding.
      if (anyMissing && brokers.level === 'ok') findings.push(await rightToCreate(admin, missing));
    });
  } catch (error) {
    findings.push(failureOf('connection', error));
  }
  return { title, findings };
}

async function brokersFinding(
  admin: Admin,
  options: { config: Config; anyMissing: boolean },
): Promise<Finding> {
  const { replicationFactor } = options.config.kafka;
  try {
    const { brokers } = await admin.describeCluster();
    return judgeBrokers({ brokers: brokers.length, replicationFactor, anyMissing: options.anyMissing });
  } catch (error) {
    return failureOf('brokers', kafkaError(error, 'listing the brokers'));
  }
}

/** Compares the number of brokers with the replication factor, which matters only for topics that do not exist yet. */
export function judgeBrokers(options: {
  brokers: number;
  replicationFactor: number;
  anyMissing: boolean;
}): Finding {
  const { brokers, replicationFactor, anyMissing } = options;
  const has = countOf(brokers, 'broker');
  if (brokers >= replicationFactor) return ok('brokers', `${has}, replication factor ${replicationFactor}`);
  const text = `${has}, but kafka.replicationFactor is ${replicationFactor}`;
  const remedy = `Set kafka.replicationFactor to at most ${brokers}, or add brokers.`;
  return anyMissing
    ? failure('brokers', `${text}: topics cannot be created`, remedy)
    : warning('brokers', `${text}: the topics exist, but new ones could not be created`, remedy);
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

/** Asks the broker whether it would create the topics (KIP-4, validate only), which tests rights, replication and policies. */
async function rightToCreate(admin: Admin, missing: readonly TopicFinding[]): Promise<Finding> {
  const subject = 'rights';
  try {
    await admin.createTopics({
      validateOnly: true,
      waitForLeaders: false,
      topics: missing.map(({ topic }) => ({
        topic: topic.name,
        numPartitions: topic.partitions,
        replicationFactor: topic.replicationFactor,
      })),
    });
    return ok(subject, 'the missing topics may be created; the right to write is tested at the start only');
  } catch (error) {
    const type = typeOf(error);
    if (type === 'INVALID_REPLICATION_FACTOR') {
      return failure(
        subject,
        'the broker would not create the missing topics: the replication factor is larger than the number of brokers',
        'Set kafka.replicationFactor to at most that number, or add brokers.',
      );
    }
    if (type !== undefined && !type.endsWith('AUTHORIZATION_FAILED')) {
      return failure(
        subject,
        `the broker would not create the missing topics: ${type}`,
        'Check kafka.partitions, kafka.replicationFactor and the policies of the cluster.',
      );
    }
    return failureOf(subject, kafkaError(error, 'asking whether the missing topics may be created'));
  }
}

/** kafkajs collects one error per topic. */
function typeOf(error: unknown): string | undefined {
  const { errors } = error as { errors?: readonly unknown[] };
  return innermost(errors?.[0] ?? error).type;
}
