import { AvroSchemaParser } from '@asyncapi/avro-schema-parser';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { describe, expect, it } from 'vitest';
import { asyncApiDocument } from '../../../../src/core/contract/asyncapi.ts';
import { readSchemaFiles } from '../../../../src/log/schema-files.ts';
import { topicSettings } from '../../../../src/log/topic-settings.ts';

function contractDocument(): object {
  const tenantId = 'north';
  const topics = [...readSchemaFiles()].map(([suffix, { schema }]) => ({
    name: `rollcall.${tenantId}.${suffix}`,
    tenantId,
    suffix,
    partitions: 3,
    replicationFactor: 3,
    settings: topicSettings(suffix),
    schema,
  }));
  return asyncApiDocument('1.2.3', topics);
}

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

  it('is refused with a key that AsyncAPI does not know, and with a schema that is no Avro', async () => {
    const { channels, components, ...rest } = contractDocument() as Record<'channels' | 'components', object>;
    const [name = ''] = Object.keys(channels);
    const unknown = { ...channels, [name]: { address: name, adress: name } };
    expect(await problemsOf({ ...rest, components, channels: unknown })).not.toEqual([]);
    const text = JSON.stringify({ ...rest, channels, components });
    expect(await problemsOf(JSON.parse(text.replaceAll('"long"', '"lng"')) as object)).not.toEqual([]);
  });
});
