import { expect, it } from 'vitest';
import { secretsInClear, unencrypted } from '../../../src/config/clear-text.ts';

const hubs = (...addresses: [baseUrl: string, tokenUrl: string][]) =>
  addresses.map(([baseUrl, tokenUrl]) => ({ hub: { baseUrl, tokenUrl } }));
const services = (ofKafka: object, others: object = {}) => ({
  kafka: { brokers: ['kafka:9092'], ssl: false, ...ofKafka },
  registry: { url: 'http://registry:8081' },
  ...others,
});
const sasl = { mechanism: 'plain' };

it('each setting that sends credentials or rows unencrypted to another machine is named once', () => {
  const tenants = hubs(
    ['http://hub.example/a', 'https://id.example/token'],
    ['http://hub.example/b', 'http://id.example:8080/token'],
    ['http://localhost:1/c', 'http://127.0.0.1:2/token'],
    ['http://[::1]:3/d', 'https://id.example/token'],
  );
  expect(unencrypted(services({}, { tenants }))).toEqual([
    'hub.baseUrl http://hub.example',
    'hub.tokenUrl http://id.example:8080',
  ]);
  const found = (of: object) => unencrypted(services({ sasl, ...of }));
  expect(found({})).toEqual(['kafka.sasl without kafka.ssl']);
  expect(found({ ssl: true })).toEqual([]);
  // As a file has it before its variables are filled in.
  expect([found({ ssl: undefined }), found({ ssl: '${TLS}' })]).toEqual([
    ['kafka.sasl without kafka.ssl'],
    [],
  ]);
  const byTokens = { ssl: true, sasl: { mechanism: 'oauthbearer', tokenUrl: 'http://id.example/token' } };
  expect(found(byTokens)).toEqual(['kafka.sasl.tokenUrl http://id.example']);
  expect(found({ brokers: ['localhost:9092', '127.0.0.1:9093'] })).toEqual([]);
  expect(found({ brokers: ['localhost:9092, 127.0.0.1:9093'] })).toEqual([]);
  expect(found({ brokers: ['localhost:9092,kafka:9093'] })).toHaveLength(1);
  const registry = { url: 'http://registry:8081', bearerToken: 'secret' };
  const redis = { url: 'redis://localhost:6379,redis:6379/0', password: 'secret' };
  expect(unencrypted(services({}, { registry, redis }))).toEqual([
    'registry.url http://registry:8081',
    'redis.password without rediss://',
  ]);
  expect(unencrypted(services({}, { redis: { ...redis, url: 'rediss://redis:6379' } }))).toEqual([]);
});

it('secrets in clear text are named by their paths, and secrets from variables or files are not named', () => {
  const hub = '{ clientId: id, clientSecret: s, tokenUrl: "https://id.example" }';
  const text = `tenants: [{ hub: ${hub} }]
kafka: { ssl: { key: "\${file:/key.pem}" }, sasl: { username: u, password: "\${P}" } }
redis: { password: geheim, keyPrefix: rollcall }
pseudonymise: { key: 0123456789abcdef }
notify: { url: "https://chat.example/x", token: "\${T}" }`;
  expect(secretsInClear(text)).toEqual([
    'tenants[0].hub.clientSecret',
    'redis.password',
    'pseudonymise.key',
    'notify.url',
  ]);
});
