import { AvroSchemaParser } from '@asyncapi/avro-schema-parser';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { describe, expect, it } from 'vitest';
import { asyncApiDocument, type ContractParts } from '../../../../src/core/contract/asyncapi.ts';
import { readSchemaFiles } from '../../../../src/log/schema-files.ts';
import { topicSettings } from '../../../../src/log/manage-topics.ts';

function documentWith(parts: Partial<ContractParts> = {}): object {
  const tenantId = 'north';
  const topics = [...readSchemaFiles()].map(([suffix, { schema }]) => ({
    name: `rollcall.${tenantId}.${suffix}`,
    tenantId,
    suffix,
    partitions: 3,
    replicas: 3,
    settings: Object.fromEntries(topicSettings(suffix).map(({ name, value }) => [name, value])),
    schema,
  }));
  return asyncApiDocument({
    version: '1.2.3',
    topics,
    brokers: ['kafka-0.example:9093', 'kafka-1.example:9093'],
    isEncrypted: true,
    mechanism: 'scram-sha-512',
    registryUrl: 'https://registry.example',
    ...parts,
  });
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
  it('is valid for every topic, with and without authentication', async () => {
    for (const mechanism of ['scram-sha-512', null] as const) {
      const isEncrypted = mechanism !== null;
      expect(await problemsOf(documentWith({ mechanism, isEncrypted }))).toEqual([]);
    }
  });

  it('is refused with a key that AsyncAPI does not know, and with a schema that is no Avro', async () => {
    const { channels, components, ...rest } = documentWith() as Record<'channels' | 'components', object>;
    const [name = ''] = Object.keys(channels);
    const unknown = { ...channels, [name]: { address: name, adress: name } };
    expect(await problemsOf({ ...rest, components, channels: unknown })).not.toEqual([]);
    const text = JSON.stringify({ ...rest, channels, components });
    expect(await problemsOf(JSON.parse(text.replaceAll('"long"', '"lng"')) as object)).not.toEqual([]);
  });
});
