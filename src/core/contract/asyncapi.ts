import type { TopicSuffix } from '../../model/collections.ts';
import { MAPPING_HEADER, OWN_HEADERS_OF_PROGRESS } from '../cloud-events.ts';

type Json = Readonly<Record<string, unknown>>;

/** A topic that consumers may read. */
export interface ContractTopic {
  readonly name: string;
  readonly tenantId: string;
  readonly suffix: TopicSuffix;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly settings: readonly { readonly name: string; readonly value: string }[];
  /** The Avro schema of its values. */
  readonly schema: { readonly doc?: string | undefined };
}

const BINDING_VERSION = '0.5.0';
const DESCRIPTION = [
  'Rollcall mirrors an Education Data Hub: each change of a row becomes one record, once, in order per key.',
  'Read with isolation.level=read_committed. A record without a value says that its key is gone.',
  'Values have the framing of the Confluent schema registry, with the subject <topic>-value and compatibility FULL_TRANSITIVE.',
].join('\n');

/** Describes topics, keys, headers and values as an AsyncAPI 3.0 document. `version`: Rollcall's. */
export function asyncApiDocument(version: string, topics: readonly ContractTopic[]): Json {
  return {
    asyncapi: '3.0.0',
    info: { title: 'Rollcall', version, description: DESCRIPTION },
    defaultContentType: 'application/avro',
    channels: Object.fromEntries(topics.map((topic) => [topic.name, channelOf(topic)])),
    components: {
      messages: Object.fromEntries(topics.flatMap(messagesOf)),
      schemas: Object.fromEntries(
        topics.map(({ suffix, schema }) => [
          suffix,
          { schemaFormat: 'application/vnd.apache.avro;version=1.9.0', schema },
        ]),
      ),
    },
  };
}

function channelOf(topic: ContractTopic): Json {
  const { name, partitions, replicationFactor: replicas, settings, schema } = topic;
  const messages = messagesOf(topic).map(([id]) => [id, { $ref: `#/components/messages/${id}` }]);
  // AsyncAPI wants numbers, and policies as a list.
  const topicConfiguration = Object.fromEntries(
    settings.map((each) => [each.name, each.name === 'cleanup.policy' ? [each.value] : Number(each.value)]),
  );
  const kafka = { topic: name, partitions, replicas, topicConfiguration, bindingVersion: BINDING_VERSION };
  return {
    address: name,
    description: schema.doc,
    messages: Object.fromEntries(messages),
    bindings: { kafka },
  };
}

/** One message for a value and, except for `progress`, one for a removal. */
function messagesOf({ tenantId, suffix, schema }: ContractTopic): [string, Json][] {
  const key = { type: 'string', description: KEYS[suffix] ?? 'sourcedId of the row.' };
  const binding = { key, bindingVersion: BINDING_VERSION };
  const confluent = { schemaIdLocation: 'payload', schemaIdPayloadEncoding: 'confluent' };
  const value = {
    title: suffix,
    summary: schema.doc,
    payload: { $ref: `#/components/schemas/${suffix}` },
    headers: headerSchema({ tenantId, suffix, isRemoval: false }),
    bindings: { kafka: { ...binding, ...confluent } },
  };
  const removal = {
    title: `${suffix}, removed`,
    summary: 'The key is gone: a record without a value.',
    payload: { type: 'null' },
    headers: headerSchema({ tenantId, suffix, isRemoval: true }),
    bindings: { kafka: binding },
  };
  const id = `${tenantId}.${suffix}`;
  return suffix === 'progress'
    ? [[id, value]]
    : [
        [id, value],
        [`${id}.removal`, removal],
      ];
}

const ENCODED = '"|" and "%" inside a part are percent-encoded.';
/** Keys that are not the `sourcedId` of a row. */
const KEYS: Partial<Record<TopicSuffix, string>> = {
  absences: 'Absence id: sourcedId of the oldest version read when the absence was first published.',
  'absence-changes': 'Absence id.',
  'class-students': 'Id of the class.',
  'afterschool-users': `<afterschool id>|<sourcedId>; ${ENCODED}`,
  schedules: `<student id>|<YYYY-MM-DD>; ${ENCODED}`,
  rejects: '<collection>|<sourcedId>, or <collection>|sha256:<hash> for a row without an id.',
  progress: 'Name of a collection; skip keys that begin with @, which are for Rollcall itself.',
};

const OWN = 'For Rollcall itself: ignore it, but keep it if you copy the topic.';

/**
 * The headers of the records of a topic as a JSON Schema: CloudEvents 1.0 in Kafka's binary mode, and Rollcall's own. A
 * removal has no value, and so none of the headers that describe a value.
 */
export function headerSchema(options: { tenantId: string; suffix: TopicSuffix; isRemoval: boolean }): Json {
  const { tenantId, suffix, isRemoval } = options;
  const isEvent = suffix === 'absence-changes';
  const kinds = isEvent ? ['created', 'replaced', 'deleted', 'restored'] : ['created', 'updated', 'deleted'];
  const required: Record<string, Json> = {
    ce_specversion: { const: '1.0' },
    ce_source: { const: `/rollcall/${tenantId}/${suffix}` },
    ce_id: { description: 'Unique within the topic: one change, one id.' },
    ce_type: { enum: kinds.map((kind) => `rollcall.${isEvent ? 'absence' : suffix}.${kind}`) },
    'content-type': { const: 'application/avro' },
  };
  const optional: Record<string, Json> = {
    ce_time: { format: 'date-time', description: "The row's dateLastModified, where it has one." },
  };
  if (!isRemoval) {
    const description = 'Two records of a key with the same hash have the same content.';
    required['content-hash'] = { pattern: '^[0-9a-f]{32}$', description };
    const own = [MAPPING_HEADER, ...(suffix === 'progress' ? OWN_HEADERS_OF_PROGRESS : [])];
    for (const name of own) optional[name] = { description: OWN };
  }
  const headers = Object.entries({ ...required, ...optional });
  return {
    type: 'object',
    required: Object.keys(required),
    properties: Object.fromEntries(headers.map(([name, rest]) => [name, { type: 'string', ...rest }])),
    additionalProperties: false,
  };
}
