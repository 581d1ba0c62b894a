import { type AbsenceChangeValue, createEventEncoder } from '../../../src/core/absences/event-encoder.ts';
import type { AbsenceVersionValue } from '../../../src/core/absences/absence-version.ts';
import { createValueCodec } from '../../../src/core/avro/value-codec.ts';
import type { RejectValue } from '../../../src/table/tenant.ts';
import { readSchemaFiles } from '../../../src/log/registry/schema-files.ts';
import type { TopicSuffix } from '../../../src/model/collections.ts';
import { schemaIdOf } from '../tenants/broker-log.ts';

const FRAME_BYTES = 5;
const schemas = readSchemaFiles();

function schemaOf(topic: TopicSuffix) {
  const schema = schemas.get(topic);
  if (schema === undefined) throw new Error(`there is no schema of ${topic}`);
  return schema;
}

/** The real ones of avro/. */
export const versionCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absence-versions'));
export const changeCodec = createValueCodec<AbsenceChangeValue>(schemaOf('absence-changes'));
export const absenceCodec = createValueCodec<AbsenceVersionValue>(schemaOf('absences'));
export const encodeEvent = createEventEncoder(schemaOf('absence-changes'));
export const rejectCodec = createValueCodec<RejectValue>(schemaOf('rejects'));

export const versionSchema = schemaOf('absence-versions');

/** Decodes as the registry does: by the schema that the frame names. */
export async function decodeFramed(framed: Buffer): Promise<unknown> {
  const body = framed.subarray(FRAME_BYTES);
  const id = framed.readInt32BE(1);
  if (id === schemaIdOf('absence-changes')) return changeCodec.fromBuffer(body);
  return (id === schemaIdOf('absences') ? absenceCodec : versionCodec).fromBuffer(body);
}
