import { beforeEach, describe, expect, it } from 'vitest';
import { load, yamlWith } from './config-text.ts';

const YAML = yamlWith({
  tenant: 'collections: { users: { pseudonymise: [email] } }',
  kafka: [
    'sasl: { mechanism: plain, username: u, password: "${file:/kafka}" }',
    'ssl: { ca: "${file:/ca.pem}", cert: "${file:/cert.pem}", key: "${file:/key.pem}" }',
  ].join('\n'),
  root: 'pseudonymise: { key: "${file:/pseudonyms}" }\nredis: { url: "redis://h", password: "${FROM_ENV}" }',
}).replace('${HUB_SECRET}', '${file:/hub}');

describe('secrets from files', () => {
  let files: Record<string, string>;
  let nowMs: number;
  let reads: number;
  beforeEach(() => {
    nowMs = 5;
    reads = 0;
    files = {
      '/hub': 'hub-1\n',
      '/kafka': 'kafka-1',
      '/pseudonyms': 'a key of sixteen characters or more',
      '/ca.pem': '-----BEGIN CERTIFICATE-----\nca-1',
      '/cert.pem': '-----BEGIN CERTIFICATE-----\ncert-1',
      '/key.pem': '-----BEGIN PRIVATE KEY-----\nkey-1',
    };
  });

  function loaded() {
    const counted = new Proxy(files, {
      get(target, name) {
        reads += 1;
        return target[String(name)];
      },
    });
    const config = load(YAML, { env: { FROM_ENV: 'redis-1' }, files: counted, now: () => nowMs });
    const { ssl, sasl } = config.kafka;
    const { ca, cert, key } = ssl as Exclude<typeof ssl, boolean>;
    return () => ({
      hub: config.tenants[0]?.hub.clientSecret.reveal(),
      kafka: sasl?.password.reveal(),
      tls: [ca, cert, key].map((pem) => pem?.reveal().split('\n')[1]),
      pseudonyms: config.pseudonymise?.key.reveal(),
      redis: config.redis?.password?.reveal(),
    });
  }

  it('are read again when they are used, so that a rotated secret needs no restart', () => {
    const used = loaded();
    files['/hub'] = 'hub-2\n';
    files['/kafka'] = 'kafka-2';
    files['/cert.pem'] = '-----BEGIN CERTIFICATE-----\ncert-2';
    files['/key.pem'] = '-----BEGIN PRIVATE KEY-----\nkey-2';
    expect(used()).toMatchObject({ hub: 'hub-1', kafka: 'kafka-1', tls: ['ca-1', 'cert-1', 'key-1'] });
    nowMs += 10_000;
    expect(used()).toMatchObject({ hub: 'hub-2', kafka: 'kafka-2', tls: ['ca-1', 'cert-2', 'key-2'] });
    files['/kafka'] = 'kafka-3';
    nowMs += 10_000;
    expect(used()).toMatchObject({ hub: 'hub-2', kafka: 'kafka-3' });
  });

  it('keep their values while a file is missing, or has no usable content', () => {
    const used = loaded();
    const before = used();
    for (const [path, content] of [
      ['/hub', ''],
      ['/ca.pem', 'no certificate'],
    ] as const) {
      const right = files[path] ?? '';
      files[path] = content;
      nowMs += 10_000;
      expect(used()).toEqual(before);
      files[path] = right;
    }
    delete files['/kafka'];
    nowMs += 10_000;
    expect(used()).toEqual(before);
    files['/kafka'] = 'kafka-2';
    nowMs += 10_000;
    expect(used()).toEqual({ ...before, kafka: 'kafka-2' });
  });

  it('the key of pseudonyms stays as it was at the start, since a new one changes every value', () => {
    const used = loaded();
    const before = used();
    files['/pseudonyms'] = 'another key of sixteen characters';
    nowMs += 10_000;
    expect(used()).toEqual(before);
    files['/hub'] = 'hub-2';
    nowMs += 10_000;
    expect(used()).toEqual({ ...before, hub: 'hub-2' });
  });

  it('files are read at most every ten seconds, however often a secret is used', () => {
    const used = loaded();
    const atStart = reads;
    for (let use = 0; use < 100; use += 1) used();
    expect(reads).toBe(atStart);
    nowMs += 10_000;
    for (let use = 0; use < 100; use += 1) used();
    expect(reads - atStart).toBe(Object.keys(files).length);
  });
});
