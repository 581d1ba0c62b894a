import { describe, expect, it } from 'vitest';
import { load, refusalOf, yamlWith } from './config-text.ts';

describe('places for values', () => {
  const at = (value: string, options: Parameters<typeof load>[1]) =>
    load(yamlWith({ hub: `scope: ${value}` }), options).tenants[0]?.hub.scope;
  const env = { HUB_SECRET: 's', A: 'one', B: 'two', NESTED: '${A}', MULTI: 'x: 1\n- y', EMPTY: '' };

  it.each([
    ['"${A}"', 'one'],
    ['${A}', 'one'],
    ['"${A}-${B}"', 'one-two'],
    ['"$${A}"', '${A}'],
    ['"$A"', '$A'],
    ['"a $ b } c"', 'a $ b } c'],
    ['"${EMPTY}"', ''],
    ['"${NESTED}"', '${A}'],
    ['${MULTI}', 'x: 1\n- y'],
  ])('%s becomes %j, which is neither filled again nor read as YAML', (written, expected) => {
    expect(at(written, { env })).toBe(expected);
  });

  it('a file loses only the one line break at its end', () => {
    for (const [text, value] of [
      ['text\n', 'text'],
      ['text\r\n', 'text'],
      [' text\n\n', ' text\n'],
    ] as const)
      expect(at('"${file:/s}"', { files: { '/s': text } })).toBe(value);
  });

  it.each([
    ['"${constructor}"', 'environment variable constructor'],
    ['"${file:/nowhere}"', 'the file /nowhere, which cannot be read (ENOENT)'],
    ['"${file:}"', 'without a path'],
    ['"${A"', 'without "}"'],
    ['"${a b}"', "neither a variable's name"],
    ['"${}"', "neither a variable's name"],
  ])('%s is refused', (written, expected) => {
    const message = refusalOf(yamlWith({ hub: `scope: ${written}` }));
    expect(message).toContain('line 8: tenants[0].hub.scope');
    expect(message).toContain(expected);
  });

  it('numbers and durations may come from variables', () => {
    const yaml = yamlWith({
      root: 'http: { port: "${PORT}" }\ndeletions: { confirmAfter: "${AFTER}", withholdAbove: { ratio: "${R}" } }',
    });
    const config = load(yaml, { env: { HUB_SECRET: 's', PORT: '0', AFTER: '1m', R: '0.1' } });
    expect(config.http.port).toBe(0);
    expect(config.deletions).toEqual({ confirmAfterMs: 60_000, withholdAbove: { rows: 50, ratio: 0.1 } });
  });

  it('certificates come from files and variables', () => {
    const [cert, key] = [
      '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----',
      '-----BEGIN PRIVATE KEY-----',
    ];
    const yaml = yamlWith({
      kafka: 'ssl: { ca: "${file:/ca.pem}", cert: "${CERT}", key: "${file:/key.pem}" }',
    });
    const files = { '/ca.pem': `${cert}\n`, '/key.pem': key };
    const { kafka } = load(yaml, { env: { HUB_SECRET: 's', CERT: cert }, files });
    const { rejectUnauthorized, ...read } = kafka.ssl as Exclude<typeof kafka.ssl, boolean>;
    expect([rejectUnauthorized, ...Object.values(read).map((file) => file?.reveal())]).toEqual([
      true,
      cert,
      cert,
      key,
    ]);
    expect(refusalOf(yamlWith({ kafka: 'ssl: { ca: /ca.pem }' }))).toContain('not PEM');
  });
});
