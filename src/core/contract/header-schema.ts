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
