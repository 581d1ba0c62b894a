import { readFileSync } from 'node:fs';
import type { AvroRecord } from '../../model/avro-schema.ts';
import { COLLECTIONS, OWN_TOPICS, type TopicSuffix } from '../../model/collections.ts';

/** Topics that share the schema file of another topic. */
const SAME_SHAPE: Partial<Record<TopicSuffix, TopicSuffix>> = {
  students: 'users',
  teachers: 'users',
  'afterschool-users': 'users',
};

/** Reads the value schema of every topic from avro/, synchronously. Throws when a file is missing or not JSON. */
export function readSchemaFiles(): ReadonlyMap<TopicSuffix, AvroRecord> {
  return new Map(
    [...COLLECTIONS, ...OWN_TOPICS].map((suffix) => [suffix, readSchemaFile(SAME_SHAPE[suffix] ?? suffix)]),
  );
}

function readSchemaFile(name: string): AvroRecord {
  return JSON.parse(
    readFileSync(new URL(`../../../avro/${name}.avsc`, import.meta.url), 'utf8'),
  ) as AvroRecord;
}
