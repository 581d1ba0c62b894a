/** An Avro schema as JSON: the part of Avro 1.12 that the files in avro/ use. */
export type AvroSchema = string | readonly AvroSchema[] | AvroDefinition;

export interface AvroDefinition {
  readonly type: AvroSchema;
  readonly logicalType?: string | undefined;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
  readonly doc?: string | undefined;
  readonly fields?: readonly AvroField[] | undefined;
  readonly items?: AvroSchema | undefined;
  readonly values?: AvroSchema | undefined;
}

export interface AvroField {
  readonly name: string;
  readonly type: AvroSchema;
  readonly default?: unknown;
  readonly doc?: string | undefined;
  /** The version that added the field to a collection; left out for a field that the first version had. */
  readonly since?: string | undefined;
}

/** The schema of a record. The values of all topics but `absence-state` have such a schema. */
export interface AvroRecord extends AvroDefinition {
  readonly type: 'record';
  readonly name: string;
  readonly fields: readonly AvroField[];
}

export function isDefinition(schema: AvroSchema): schema is AvroDefinition {
  return typeof schema === 'object' && !Array.isArray(schema);
}
