import * as fc from 'fast-check';

import {
  isDefinition,
  type AvroField,
  type AvroRecord,
  type AvroSchema,
} from '../../../../src/model/avro-schema.ts';

/**
 * Makes rows as a hub might send them: most fields are as the schema expects, some are not, some are missing, some are
 * unknown. `sourcedId` is always there.
 */
export function arbitraryRow(schema: AvroRecord): fc.Arbitrary<Record<string, unknown>> {
  const definitions = new Map<string, fc.Arbitrary<unknown>>();
  const fields = schema.fields.filter(({ name }) => name !== 'additionalFields');
  const known = Object.fromEntries(
    fields.map((field) => [field.name, mayNotFit(fitting(field.type, definitions))]),
  );
  const row = fc.record({ ...known, sourcedId: ids }, { requiredKeys: ['sourcedId'] });
  const unknown = fc.dictionary(
    fc.constantFrom('metadata', 'constructor', 'hasOwnProperty', 'æ', 'toString', 'additionalFields'),
    fc.jsonValue(),
    { maxKeys: 3 },
  );
  return fc.tuple(row, unknown).map(([one, other]) => Object.assign({}, other, one));
}

const ids = fc.string({ minLength: 1, maxLength: 12, unit: fc.constantFrom('a', 'b', '1', '-', '|', 'ø') });

function mayNotFit(arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 8, arbitrary },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.jsonValue() },
  );
}

function fitting(schema: AvroSchema, definitions: Map<string, fc.Arbitrary<unknown>>): fc.Arbitrary<unknown> {
  if (typeof schema === 'string') return definitions.get(schema) ?? scalar(schema);
  if (!isDefinition(schema)) return fitting(schema[1] ?? 'null', definitions);
  if (schema.logicalType === 'date') return instants.map((instant) => instant.toISOString().slice(0, 10));
  if (schema.logicalType === 'timestamp-millis') return timestamps;
  if (schema.items !== undefined) return fc.array(fitting(schema.items, definitions), { maxLength: 4 });
  const record = recordOf(schema.fields ?? [], definitions);
  definitions.set(schema.name ?? '', record);
  return record;
}

function recordOf(
  fields: readonly AvroField[],
  definitions: Map<string, fc.Arbitrary<unknown>>,
): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    fields.map(({ name, type }) => {
      const member = name === 'href' ? fc.webUrl() : fitting(type, definitions);
      return [
        name,
        name === 'sourcedId'
          ? ids
          : fc.oneof({ weight: 30, arbitrary: member }, { weight: 1, arbitrary: fc.jsonValue() }),
      ];
    }),
  );
  const extra = fc.option(fc.jsonValue(), { freq: 20, nil: undefined });
  return fc
    .tuple(fc.record(members, { requiredKeys: ['sourcedId'].filter((name) => name in members) }), extra)
    .map(([record, unknown]) => (unknown === undefined ? record : Object.assign({}, record, { unknown })));
}

const instants = fc.date({
  min: new Date('1990-01-01T00:00:00Z'),
  max: new Date('2100-01-01T00:00:00Z'),
  noInvalidDate: true,
});
const timestamps = fc
  .tuple(instants, fc.constantFrom('Z', 'Z', 'Z', '456Z', '+02:00'))
  .map(([instant, zone]) => instant.toISOString().replace('Z', zone));

function scalar(type: string): fc.Arbitrary<unknown> {
  if (type === 'boolean') return fc.constantFrom(true, false, 'true', 'FALSE', 1, 0);
  if (type === 'double')
    return fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => (number === 0 ? 0 : number));
  return fc.string({ unit: 'grapheme', maxLength: 80 });
}
