import type { TopicSuffix } from '../../model/collections.ts';
import { SEVERAL_MAPPINGS } from '../../model/progress.ts';
import {
  DELETIONS_HEADER,
  FIRST_LOAD_HEADER,
  MAPPING_HEADER,
  PARTITIONS_HEADER,
  SCHEMAS_HEADER,
  STATE_HEADER,
  type AbsenceOperation,
  type ChangeKind,
} from '../cloud-events.ts';

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

/** Descriptions of a topic's key and value. */
interface TopicTexts {
  readonly key: string;
  readonly value: string;
}

const ROW: TopicTexts = {
  key: 'sourcedId of the row.',
  value: 'The row as it is now at the hub.',
};

const OTHERS: Partial<Record<TopicSuffix, TopicTexts>> = {
  'absence-versions': {
    key: 'sourcedId of the version.',
    value:
      'The absence record as the hub returned it: every version of every absence, also replaced and deleted ones.',
  },
  absences: {
    key: 'Absence id: sourcedId of the oldest version known when the absence was first published.',
    value: 'The current version of the absence.',
  },
  'absence-changes': { key: 'Absence id.', value: 'One event for each step of the absence.' },
  'class-students': { key: 'Id of the class.', value: 'The ids of its students, sorted.' },
  'afterschool-users': {
    key: '<afterschool id>|<sourcedId>; "|" and "%" inside a part are percent-encoded.',
    value: 'The row as it is now at the hub.',
  },
  schedules: {
    key: '<student id>|<YYYY-MM-DD>; "|" and "%" inside a part are percent-encoded.',
    value: 'All lessons of that student on that day.',
  },
  rejects: {
    key: '<collection>|<sourcedId>, or <collection>|sha256:<hash> for a row without an id.',
    value: 'A row that Rollcall could not decode, as JSON text, and the reason.',
  },
  progress: {
    key: 'Name of a collection, or @owner.',
    value: 'How far the collection is, or which process owns the tenant.',
  },
};

export function topicTexts(suffix: TopicSuffix): TopicTexts {
  return OTHERS[suffix] ?? ROW;
}

const KINDS: readonly ChangeKind[] = ['created', 'updated', 'deleted'];
const OPERATIONS: readonly AbsenceOperation[] = ['created', 'replaced', 'deleted', 'restored'];
const REQUIRED = ['ce_specversion', 'ce_source', 'ce_id', 'ce_type', 'content-type'];

/**
 * The headers of the records of a topic as a JSON Schema: CloudEvents 1.0 in Kafka's binary mode, and Rollcall's own. A
 * removal has no value, and so none of the headers that describe a value.
 */
export function headerSchema(options: { tenantId: string; suffix: TopicSuffix; isRemoval: boolean }): Json {
  const { tenantId, suffix, isRemoval } = options;
  return {
    type: 'object',
    required: isRemoval ? REQUIRED : [...REQUIRED, 'content-hash'],
    properties: {
      ce_specversion: { type: 'string', const: '1.0' },
      ce_source: { type: 'string', const: `/rollcall/${tenantId}/${suffix}` },
      ce_id: { type: 'string', description: 'Unique within the topic: one change, one id.' },
      ce_type: { type: 'string', enum: eventTypes(suffix) },
      ce_time: {
        type: 'string',
        format: 'date-time',
        description: "The row's dateLastModified, where it has one.",
      },
      'content-type': { type: 'string', const: 'application/avro' },
      ...(isRemoval ? {} : valueHeaders(suffix)),
    },
    additionalProperties: false,
  };
}

function eventTypes(suffix: TopicSuffix): string[] {
  return suffix === 'absence-changes'
    ? OPERATIONS.map((operation) => `rollcall.absence.${operation}`)
    : KINDS.map((kind) => `rollcall.${suffix}.${kind}`);
}

function valueHeaders(suffix: TopicSuffix): Json {
  const own = 'For Rollcall itself: ignore it, but keep it if you copy the topic.';
  return {
    'content-hash': {
      type: 'string',
      pattern: '^[0-9a-f]{32}$',
      description: 'Two records of a key with the same hash have the same content.',
    },
    [MAPPING_HEADER]: {
      type: 'string',
      // The rows that a record of `progress` speaks for may be of several mappings.
      pattern: suffix === 'progress' ? `^([0-9a-f]{16}|${SEVERAL_MAPPINGS})$` : '^[0-9a-f]{16}$',
      description: own,
    },
    ...(suffix === 'progress'
      ? {
          [STATE_HEADER]: { type: 'string', description: own },
          [DELETIONS_HEADER]: { type: 'string', description: own },
          [PARTITIONS_HEADER]: { type: 'string', description: own },
          [SCHEMAS_HEADER]: { type: 'string', pattern: '^[0-9]+(,[0-9]+)*$', description: own },
          [FIRST_LOAD_HEADER]: { type: 'string', description: own },
        }
      : {}),
  };
}
