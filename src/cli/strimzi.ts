import { createHash } from 'node:crypto';
import type { KafkaConfig } from '../config.ts';
import { NEEDED_OPERATIONS } from '../log/rights.ts';
import { topicSettings, type WantedTopic } from '../log/topic-settings.ts';

const API = 'kafka.strimzi.io/v1';
/** The types of resources, by the names that Strimzi uses. */
const TYPES = { topic: 'topic', group: 'group', 'transactional-id': 'transactionalId' } as const;
const KINDS = ['topic', 'group', 'transactional-id'] as const;

/** The topics, and a user with the rights that Rollcall needs, as resources of the Strimzi operator. */
export function strimziResources(
  kafka: KafkaConfig,
  topics: readonly WantedTopic[],
  cluster: string,
): readonly object[] {
  const labels = { 'strimzi.io/cluster': cluster };
  return [...topics.map((topic) => topicResource(topic, labels)), userResource(kafka, labels)];
}

type Labels = Readonly<Record<string, string>>;

function topicResource({ name, suffix, partitions, replicationFactor }: WantedTopic, labels: Labels): object {
  const config = Object.fromEntries(topicSettings(suffix).map((setting) => [setting.name, setting.value]));
  return {
    apiVersion: API,
    kind: 'KafkaTopic',
    metadata: { name: resourceName(name), labels },
    spec: { topicName: name, partitions, replicas: replicationFactor, config },
  };
}

function userResource({ topicPrefix, ssl, sasl }: KafkaConfig, labels: Labels): object {
  const { username, clientId = 'rollcall' } = { ...sasl } as { username?: string; clientId?: string };
  const userName = username ?? clientId;
  // Without `authentication`, Strimzi only grants rights, to a user that the brokers know in another way.
  const isByCertificate = sasl === undefined && typeof ssl === 'object' && ssl.cert !== undefined;
  const type = isByCertificate ? 'tls' : sasl?.mechanism === 'scram-sha-512' ? 'scram-sha-512' : null;
  const acls = KINDS.map((kind) => ({
    resource: { type: TYPES[kind], name: `${topicPrefix}.`, patternType: 'prefix' },
    operations: NEEDED_OPERATIONS[kind],
  }));
  return {
    apiVersion: API,
    kind: 'KafkaUser',
    // Strimzi gives the user the name of the resource.
    metadata: { name: resourceName(userName) === userName ? userName : 'rollcall', labels },
    spec: {
      ...(type !== null && { authentication: { type } }),
      authorization: { type: 'simple', acls },
    },
  };
}

/**
 * The name itself, if Kubernetes accepts it (RFC 1123). Otherwise a similar name, with a hash so that no two names give
 * the same one.
 */
function resourceName(name: string): string {
  const taken = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
  if (taken === name) return name;
  return `${taken}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}
