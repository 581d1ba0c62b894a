import type { TopicSuffix } from '../../model/collections.ts';
import { headerSchema } from './header-schema.ts';
import { topicTexts } from './topic-texts.ts';

type Json = Readonly<Record<string, unknown>>;

/** A topic that consumers may read. */
export interface ContractTopic {
  readonly name: string;
  readonly tenantId: string;
  readonly suffix: TopicSuffix;
  readonly partitions: number;
  readonly replicas: number;
  /** Settings of the topic by name. */
  readonly settings: Readonly<Record<string, string>>;
  /** The Avro schema of its values. */
  readonly schema: object;
}

export interface ContractParts {
  /** Rollcall's version. */
  readonly version: string;
  readonly topics: readonly ContractTopic[];
  /** host:port of each bootstrap broker. */
  readonly brokers: readonly string[];
  readonly isEncrypted: boolean;
  /** SASL mechanism; null without authentication by password. */
  readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512' | null;
  readonly registryUrl: string;
}

const BINDING_VERSION = '0.5.0';
const SECURITY = { plain: 'plain', 'scram-sha-256': 'scramSha256', 'scram-sha-512': 'scramSha512' };
const DESCRIPTION = [
  'Rollcall mirrors an Education Data Hub: each change of a row becomes one record, once, in order per key.',
  'Read with isolation.level=read_committed. A record without a value says that its key is gone.',
  'Values have the framing of the Confluent schema registry, with the subject <topic>-value and compatibility FULL_TRANSITIVE.',
].join('\n');

/** Describes topics, keys, headers and values as an AsyncAPI 3.0 document. It holds addresses, but no credential. */
export function asyncApiDocument(parts: ContractParts): Json {
  const { topics, version } = parts;
  return {
    asyncapi: '3.0.0',
    info: { title: 'Rollcall', version, description: DESCRIPTION },
    defaultContentType: 'application/avro',
    servers: serversOf(parts),
    channels: Object.fromEntries(topics.map((topic) => [topic.name, channelOf(topic)])),
    operations: Object.fromEntries(topics.map((topic) => [`publish.${topic.name}`, operationOf(topic)])),
    components: {
      ...(parts.mechanism === null
        ? {}
        : { securitySchemes: { sasl: { type: SECURITY[parts.mechanism], description: 'SASL' } } }),
      messages: Object.fromEntries(topics.flatMap(messagesOf)),
      schemas: Object.fromEntries(topics.map(({ suffix, schema }) => [suffix, avro(schema)])),
    },
  };
}

function serversOf({ brokers, isEncrypted, mechanism, registryUrl }: ContractParts): Json {
  const server = (host: string): Json => ({
    host,
    protocol: isEncrypted ? 'kafka-secure' : 'kafka',
    ...(mechanism === null ? {} : { security: [{ $ref: '#/components/securitySchemes/sasl' }] }),
    bindings: { kafka: { schemaRegistryUrl: registryUrl, bindingVersion: BINDING_VERSION } },
  });
  return Object.fromEntries(brokers.map((host, index) => [`broker-${index + 1}`, server(host)]));
}

function channelOf(topic: ContractTopic): Json {
  const { name, suffix, partitions, replicas, settings } = topic;
  const messages = messagesOf(topic).map(([id]) => [id, { $ref: `#/components/messages/${id}` }]);
  return {
    address: name,
    description: topicTexts(suffix).value,
    messages: Object.fromEntries(messages),
    bindings: {
      kafka: {
        topic: name,
        partitions,
        replicas,
        topicConfiguration: bindingSettings(settings),
        bindingVersion: BINDING_VERSION,
      },
    },
  };
}

/** AsyncAPI wants numbers, and policies as a list. */
function bindingSettings(settings: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [
      name,
      name === 'cleanup.policy' ? [value] : Number(value),
    ]),
  );
}

function operationOf(topic: ContractTopic): Json {
  const channel = `#/channels/${topic.name}`;
  return {
    action: 'send',
    channel: { $ref: channel },
    messages: messagesOf(topic).map(([id]) => ({ $ref: `${channel}/messages/${id}` })),
  };
}

/** One message for a value and, except for `progress`, one for a removal. */
function messagesOf(topic: ContractTopic): [string, Json][] {
  const { tenantId, suffix } = topic;
  const texts = topicTexts(suffix);
  const common = (isRemoval: boolean): Json => ({
    headers: headerSchema({ tenantId, suffix, isRemoval }),
    bindings: {
      kafka: {
        key: { type: 'string', description: texts.key },
        ...(isRemoval ? {} : { schemaIdLocation: 'payload', schemaIdPayloadEncoding: 'confluent' }),
        bindingVersion: BINDING_VERSION,
      },
    },
  });
  const value: [string, Json] = [
    `${tenantId}.${suffix}`,
    {
      title: suffix,
      summary: texts.value,
      contentType: 'application/avro',
      payload: { $ref: `#/components/schemas/${suffix}` },
      ...common(false),
    },
  ];
  if (suffix === 'progress') return [value];
  const summary = 'The key is gone: a record without a value.';
  return [
    value,
    [
      `${tenantId}.${suffix}.removal`,
      { title: `${suffix}, removed`, summary, payload: { type: 'null' }, ...common(true) },
    ],
  ];
}

function avro(schema: object): Json {
  return { schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema };
}
