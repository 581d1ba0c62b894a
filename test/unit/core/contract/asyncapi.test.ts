import { AvroSchemaParser } from '@asyncapi/avro-schema-parser';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { expect, it } from 'vitest';
import { asyncApiDocument } from '../../../../src/core/contract/asyncapi.ts';
import { readSchemaFiles } from '../../../../src/log/registry/schema-files.ts';
import { topicSettings } from '../../../../src/log/topic-settings.ts';

const tenantId = 'north';
const TOPICS = [...readSchemaFiles()].map(([suffix, schema], at) => ({
  name: `rollcall.${tenantId}.${suffix}`,
  tenantId,
  suffix,
  partitions: at + 1,
  replicationFactor: 3,
  settings: topicSettings(suffix),
  schema,
}));
const DOCUMENT = asyncApiDocument('1.2.3', TOPICS) as {
  channels: Record<string, { bindings: { kafka: { topicConfiguration?: object } }; messages: object }>;
  components: {
    schemas: Record<string, { schema: object }>;
    messages: Record<string, { headers: { required: string[] } }>;
  };
};

it('the AsyncAPI document is valid for every topic, and invalid with a schema that is not Avro', async () => {
  const parser = new Parser();
  parser.registerSchemaParser(AvroSchemaParser());
  // The rest recommends a version of AsyncAPI that fewer tools know.
  const isSerious = (severity: DiagnosticSeverity) => severity <= DiagnosticSeverity.Warning;
  const problemsOf = async (text: string) => {
    const { diagnostics } = await parser.parse(text);
    return diagnostics
      .filter(({ severity }) => isSerious(severity))
      .map(({ path, message }) => [path, message]);
  };
  const text = JSON.stringify(DOCUMENT);
  expect(await problemsOf(text)).toEqual([]);
  expect(await problemsOf(text.replaceAll('"long"', '"lng"'))).not.toEqual([]);
});

it('the AsyncAPI document has the partitions, the settings, the schema and the messages of each topic', () => {
  const { channels, components } = DOCUMENT;
  expect(Object.keys(channels)).toEqual(TOPICS.map(({ name }) => name));
  for (const { name, suffix, partitions, settings, schema } of TOPICS) {
    expect(components.schemas[suffix]?.schema).toEqual(schema);
    const { topicConfiguration = {}, ...kafka } = channels[name]?.bindings.kafka ?? {};
    expect(kafka).toMatchObject({ topic: name, partitions, replicas: 3 });
    const written = Object.entries(topicConfiguration).map(([each, value]) => [each, String(value)]);
    expect(written).toEqual(settings.map((each) => [each.name, each.value]));
    // The first is of a value, which alone has a hash.
    const messages = Object.keys(channels[name]?.messages ?? {}).map((id) => components.messages[id]);
    const isHashed = messages.map((each) => each?.headers.required.includes('content-hash'));
    expect(isHashed).toEqual(suffix === 'progress' ? [true] : [true, false]);
  }
});
