import type { CollectionSettings } from '../config.ts';
import { type AbsenceChangeValue, createEventEncoder } from '../core/absences/event-encoder.ts';
import type { RowReader } from '../core/rows/decoded-row.ts';
import { strictFieldsOf } from '../core/rows/mapping-rules.ts';
import { createRowReader } from '../core/rows/row-reader.ts';
import { createValueCodec } from '../core/avro/value-codec.ts';
import type { ProgressValue } from '../log/progress-codec.ts';
import { readSchemaFiles } from '../log/registry/schema-files.ts';
import type { CollectionName, TopicSuffix } from '../model/collections.ts';
import type { RejectValue } from '../table/tenant.ts';

export type SchemaFiles = ReturnType<typeof readSchemaFiles>;

/** The settings for a collection's fields. */
type FieldSettings = Pick<CollectionSettings, 'drop' | 'pseudonymise' | 'ignore'>;

export type CompiledSchemas = ReturnType<typeof compileSchemas>;

/**
 * The codecs and row readers that all tenants share: to compile them for each tenant would take most of the time of a
 * start. `pseudonymiseKey` returns the key in the configuration. A key may be added to the configuration while the
 * process runs.
 */
export function compileSchemas(pseudonymiseKey: () => string | undefined) {
  const files = readSchemaFiles();
  /** Readers by collection and field settings. */
  const readers = new Map<string, RowReader>();
  return {
    files,
    codecs: createCodecs(files),
    /** A reader keeps nothing from one row to the next, so tenants can share it. */
    reader(name: CollectionName, { drop, pseudonymise, ignore }: FieldSettings): RowReader {
      const key = JSON.stringify([name, drop, pseudonymise, ignore]);
      const reader =
        readers.get(key) ??
        createRowReader({
          schema: schemaOf(files, name),
          strictFields: strictFieldsOf(name),
          drop,
          pseudonymise,
          pseudonymiseKey: pseudonymiseKey(),
          ignore,
          keepsStudent: name === 'absence-versions',
        });
      readers.set(key, reader);
      return reader;
    },
  };
}

function createCodecs(files: SchemaFiles) {
  return {
    progress: createValueCodec<ProgressValue>(schemaOf(files, 'progress')),
    rejects: createValueCodec<RejectValue>(schemaOf(files, 'rejects')),
    changes: createValueCodec<AbsenceChangeValue>(schemaOf(files, 'absence-changes')),
    encodeEvent: createEventEncoder(schemaOf(files, 'absence-changes')),
  };
}

function schemaOf(files: SchemaFiles, suffix: TopicSuffix) {
  const schema = files.get(suffix);
  if (schema === undefined) throw new Error(`there is no schema of ${suffix}`);
  return schema;
}
