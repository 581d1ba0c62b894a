/** An Avro schema as JSON (Avro 1.12), as far as the files in avro/ use it. */
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
}

/** A record schema: what every topic value is. */
export interface AvroRecord extends AvroDefinition {
  readonly type: 'record';
  readonly name: string;
  readonly fields: readonly AvroField[];
}
