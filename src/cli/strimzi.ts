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

/** How Strimzi lets the user log in; null: it only grants rights, to a user that the brokers know in another way. */
export function authenticationOf({ ssl, sasl }: Pick<KafkaConfig, 'ssl' | 'sasl'>): string | null {
  if (sasl !== undefined) return sasl.mechanism === 'scram-sha-512' ? sasl.mechanism : null;
  return typeof ssl === 'object' && ssl.cert !== undefined ? 'tls' : null;
}

function userResource({ topicPrefix, ssl, sasl }: KafkaConfig, labels: Labels): object {
  const { username, clientId = 'rollcall' } = { ...sasl } as { username?: string; clientId?: string };
  const userName = username ?? clientId;
  const type = authenticationOf({ ssl, sasl });
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
 * The name itself, or a similar one that Kubernetes accepts (RFC 1123). All topics have the same prefix, so no two of
 * them get the same name.
 */
function resourceName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]+/g, '-')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
}
