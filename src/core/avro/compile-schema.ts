import { isDefinition, type AvroField, type AvroSchema } from '../../model/avro-schema.ts';

export type CompiledField<T> = AvroField & { readonly compiled: T };

/** Compiles the parts of a row's schema into something else, such as readers or writers. */
export interface SchemaCompiler<T> {
  /** A logical type or, without one, the type; undefined if no row may hold it. */
  scalar(type: string): T | undefined;
  nullable(type: T): T;
  /** `name`: of the field with this array. */
  array(item: T, name: string): T;
  record(fields: readonly CompiledField<T>[]): T;
}

/** Compiles fields in their order. A type is defined at its first use, and referred to by its name afterwards. */
export function compileFields<T>(
  fields: readonly AvroField[],
  compiler: SchemaCompiler<T>,
): readonly CompiledField<T>[] {
  const definitions = new Map<string, T>();
  const compileAll = (some: readonly AvroField[]): CompiledField<T>[] =>
    some.map((field) => ({ ...field, compiled: compile(field.type, field.name) }));
  const compile = (schema: AvroSchema, name: string): T => {
    if (typeof schema === 'string') {
      const found = definitions.get(schema) ?? compiler.scalar(schema);
      if (found === undefined) throw new Error(`a row schema cannot hold the type ${schema}`);
      return found;
    }
    if (isDefinition(schema)) {
      if (schema.items !== undefined) return compiler.array(compile(schema.items, ''), name);
      if (schema.type !== 'record') return compile(schema.logicalType ?? schema.type, name);
      const compiled = compiler.record(compileAll(schema.fields ?? []));
      definitions.set(schema.name ?? '', compiled);
      return compiled;
    }
    const [first, second] = schema;
    if (schema.length !== 2 || first !== 'null' || second === undefined)
      throw new Error(
        `a row schema has the union ${JSON.stringify(schema)}, but only ["null", T] is supported`,
      );
    return compiler.nullable(compile(second, name));
  };
  return compileAll(fields);
}
