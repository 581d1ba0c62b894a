import { AvroSchemaParser } from '@asyncapi/avro-schema-parser';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { describe, expect, it } from 'vitest';
import { asyncApiDocument } from '../../../../src/core/contract/asyncapi.ts';
import { readSchemaFiles } from '../../../../src/log/schema-files.ts';
import { topicSettings } from '../../../../src/log/topic-settings.ts';

const tenantId = 'north';
const TOPICS = [...readSchemaFiles()].map(([suffix, { schema }], at) => ({
  name: `rollcall.${tenantId}.${suffix}`,
  tenantId,
  suffix,
  partitions: at + 1,
  replicationFactor: 3,
  settings: topicSettings(suffix),
  schema,
}));
const contractDocument = (): object => asyncApiDocument('1.2.3', TOPICS);

/** The rest recommends a version of AsyncAPI that fewer tools know. */
const SERIOUS: ReadonlySet<DiagnosticSeverity> = new Set([
  DiagnosticSeverity.Error,
  DiagnosticSeverity.Warning,
]);

async function problemsOf(document: object): Promise<string[]> {
  const parser = new Parser();
  parser.registerSchemaParser(AvroSchemaParser());
  const { diagnostics } = await parser.parse(JSON.stringify(document));
  return diagnostics
    .filter(({ severity }) => SERIOUS.has(severity))
    .map(({ path, message }) => `${path.join('/')}: ${message}`);
}

describe('the AsyncAPI document', () => {
  it('is valid for every topic', async () => {
    expect(await problemsOf(contractDocument())).toEqual([]);
  });

  it('has the partitions, the settings and the schema of each topic', () => {
    const { channels, components } = contractDocument() as {
      channels: Record<string, { bindings: { kafka: { topicConfiguration?: object } } }>;
      components: { schemas: Record<string, { schema: object }> };
    };
    expect(Object.keys(channels)).toEqual(TOPICS.map(({ name }) => name));
    for (const { name, suffix, partitions, settings, schema } of TOPICS) {
      expect(components.schemas[suffix]?.schema).toEqual(schema);
      const { topicConfiguration = {}, ...kafka } = channels[name]?.bindings.kafka ?? {};
      expect(kafka).toMatchObject({ topic: name, partitions, replicas: 3 });
      const told = Object.entries(topicConfiguration).map(([each, value]) => ({
        name: each,
        value: String(value),
      }));
      expect(told).toEqual(settings.map((each) => ({ name: each.name, value: each.value })));
    }
  });

  it('is refused with a key that AsyncAPI does not know, and with a schema that is no Avro', async () => {
    const { channels, components, ...rest } = contractDocument() as Record<'channels' | 'components', object>;
    const [name = ''] = Object.keys(channels);
    const unknown = { ...channels, [name]: { address: name, adress: name } };
    expect(await problemsOf({ ...rest, components, channels: unknown })).not.toEqual([]);
    const text = JSON.stringify({ ...rest, channels, components });
    expect(await problemsOf(JSON.parse(text.replaceAll('"long"', '"lng"')) as object)).not.toEqual([]);
  });
});
