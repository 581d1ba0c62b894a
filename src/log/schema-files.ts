import { readFileSync } from 'node:fs';

import type { AvroRecord } from '../model/avro-schema.ts';
import { COLLECTIONS, OWN_TOPICS, type TopicSuffix } from '../model/collections.ts';

/** The schema of a topic's values. */
export interface SchemaFile {
  /** The text of the file. */
  readonly text: string;
  readonly schema: AvroRecord;
}

/** Topics that share the schema file of another topic. */
const SAME_SHAPE: Partial<Record<TopicSuffix, TopicSuffix>> = {
  students: 'users',
  teachers: 'users',
  'afterschool-users': 'users',
  absences: 'absence-versions',
};

/** Reads the value schema of every topic from avro/, synchronously. Throws when a file is missing or not JSON. */
export function readSchemaFiles(): ReadonlyMap<TopicSuffix, SchemaFile> {
  return new Map(
    [...COLLECTIONS, ...OWN_TOPICS].map((suffix) => [suffix, readSchemaFile(SAME_SHAPE[suffix] ?? suffix)]),
  );
}

function readSchemaFile(name: string): SchemaFile {
  const text = readFileSync(new URL(`../../avro/${name}.avsc`, import.meta.url), 'utf8');
  return { text, schema: JSON.parse(text) as AvroRecord };
}
