import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { load, refusalOf, yamlWith } from './config-text.ts';

describe('secrets', () => {
  const env = { HUB_SECRET: 'S3CRET-hub', OTHER: 'S3CRET-other' };

  it('are not shown by any way to print the configuration', () => {
    const config = load(
      yamlWith({
        kafka: 'sasl: { mechanism: plain, username: u, password: "${OTHER}" }',
        root: 'redis: { url: "redis://localhost:6379/2", password: S3CRET-redis }\npseudonymise: { key: "S3CRET-0123456789" }',
      }),
      { env },
    );
    const shown = `${JSON.stringify(config)}${inspect(config, { depth: 20, showHidden: true })}`;
    expect(`${shown}${String(config.tenants[0]?.hub.clientSecret)}`).not.toContain('S3CRET');
    expect(shown).toContain('[redacted]');
    expect(config.tenants[0]?.hub.clientSecret.reveal()).toBe('S3CRET-hub');
    expect(config.redis?.password?.reveal()).toBe('S3CRET-redis');
  });

  it.each([
    ['as an address', yamlWith().replace('https://hub.example/north/', '${OTHER}')],
    ['as a word of a few', yamlWith({ hub: 'clientAuth: "${OTHER}"' })],
    ['as a number', yamlWith({ root: 'http: { port: "${OTHER}" }' })],
    ['as a duration', yamlWith({ tenant: 'deltaEvery: "${OTHER}"' })],
    ['as an id', yamlWith().replace('north', '${OTHER}')],
    ['as a collection', yamlWith({ tenant: 'collections: ["${OTHER}"]' })],
    ['as a field', yamlWith({ tenant: 'collections: { users: "${OTHER}" }' })],
    ['as a broker', yamlWith().replace('localhost:9092', '${OTHER}')],
    ['as a certificate', yamlWith({ kafka: 'ssl: { ca: "-----BEGIN ${OTHER}" }' })],
    ['as an address of Redis', yamlWith({ root: 'redis: { url: "redis://:S3CRET@h" }' })],
    ['as a short key', yamlWith({ root: 'pseudonymise: { key: S3CRET }' })],
    ['after a syntax error', `${yamlWith()}x: "S3CRET\n`],
    ['as an alias', yamlWith({ root: 'redis: { url: "redis://h", password: *S3CRET }' })],
    ['as a tag', yamlWith({ root: 'redis: { url: "redis://h", password: !S3CRET x }' })],
    ['after a stray quote', yamlWith({ root: 'redis: { url: "redis://h", password: "a"S3CRET }' })],
    ['with an escape', yamlWith({ root: 'redis: { url: "redis://h", password: "\\qS3CRET" }' })],
  ])('are not repeated in a refusal: %s', (_name, yaml) => {
    expect(refusalOf(yaml, { env })).not.toContain('S3CRET');
  });
});
