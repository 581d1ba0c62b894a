import { isDefinition, type AvroField, type AvroSchema } from '../../model/avro-schema.ts';

const UNIT_MS: Readonly<Record<string, number>> = { 'timestamp-millis': 1, date: 86_400_000 };
/** The latest time that a `Date` can hold. */
const LATEST_MS = 8.64e15;

/** Returns a function that makes a decoded value readable: its times and days become ISO 8601 text. */
export function isoTimes(schema: AvroSchema): (value: unknown) => unknown {
  const times = new Map<string, string>();
  // A walk over all fields, at any depth. In a schema, a field name never means a time in one place and another number elsewhere.
  JSON.stringify(schema, (_, node: Partial<AvroField> | null) => {
    const types = [node?.type ?? []].flat() as readonly AvroSchema[];
    const logicalType = types
      .filter(isDefinition)
      .find((type) => type.logicalType !== undefined)?.logicalType;
    if (node?.name !== undefined && logicalType !== undefined) times.set(node.name, logicalType);
    return node;
  });
  const replace = (name: string, value: unknown): unknown => {
    const logicalType = times.get(name) ?? '';
    const ms = typeof value === 'number' ? value * (UNIT_MS[logicalType] ?? NaN) : NaN;
    if (!(Math.abs(ms) <= LATEST_MS)) return value;
    const iso = new Date(ms).toISOString();
    return logicalType === 'date' ? iso.slice(0, 10) : iso;
  };
  return (value) => JSON.parse(JSON.stringify(value, replace)) as unknown;
}
