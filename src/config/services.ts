import { z } from 'zod';
import { COLLECTIONS, type TopicSuffix } from '../model/collections.ts';
import { flag, httpUrl, secret, text, wholeNumber } from './fields.ts';
import { redisUrl } from './redis-url.ts';
import { Secret } from './secret.ts';

const pem = text(100_000).regex(/-----BEGIN [A-Z ]+-----/, {
  error: 'is no PEM: "-----BEGIN …" is expected',
});

/** Where the topics are. */
export const kafka = z
  .strictObject({
    brokers: z
      .array(text().regex(/^[^\s/,@]+:\d{1,5}$/, { error: 'must be host:port' }))
      .min(1, { error: 'names no broker' })
      .describe('Addresses to begin with, host:port.'),
    topicPrefix: text(100)
      .regex(/^[a-zA-Z0-9._-]+$/, { error: 'may hold only a-z, A-Z, 0-9, ".", "_" and "-"' })
      .prefault('rollcall')
      .describe('First part of every topic and of the transactional ids.'),
    replicationFactor: wholeNumber({ min: 1, max: 100 })
      .prefault(3)
      .describe('Of topics that Rollcall creates.'),
    partitions: z
      .union(
        [partitionCount(), z.partialRecord(z.enum(['default', 'rejects', ...COLLECTIONS]), partitionCount())],
        { error: 'must be a number, or a map of numbers by collection' },
      )
      .prefault(3)
      .transform((written): Readonly<Partial<Record<TopicSuffix, number>> & { default: number }> =>
        typeof written === 'number' ? { default: written } : { default: 3, ...written },
      )
      .describe(
        'Of topics that Rollcall creates: a number, or a map by collection with `default`. `progress` always has 1.',
      ),
    ssl: z
      .union(
        [
          flag(),
          z.strictObject({
            ca: pem.optional().describe('CA certificate, PEM: the text or the path of a file.'),
            cert: pem.optional().describe('Client certificate, PEM: the text or the path of a file.'),
            key: pem
              .transform((value) => new Secret(value))
              .optional()
              .describe('Key of the client certificate, PEM: the text or the path of a file.'),
            rejectUnauthorized: flag()
              .prefault(true)
              .describe('False accepts any certificate: never in production.'),
          }),
        ],
        { error: 'must be true, false or a map of settings' },
      )
      .prefault(false)
      .describe('TLS: true, false, or its settings.'),
    sasl: z
      .strictObject({
        mechanism: z.enum(['plain', 'scram-sha-256', 'scram-sha-512']).describe('SASL mechanism.'),
        username: text().describe('User name.'),
        password: secret().describe('Password.'),
      })
      .optional()
      .describe('Left out: no authentication.'),
  })
  .describe('The Kafka cluster.');

function partitionCount() {
  return wholeNumber({ min: 1, max: 10_000 });
}

/** Where the schemas are. */
export const registry = z
  .strictObject({
    url: httpUrl().describe('Address of a Confluent-compatible schema registry.'),
    username: text().optional().describe('Left out: no authentication.'),
    password: secret().optional().describe('Password of `username`.'),
  })
  .describe('The schema registry.');

/** Where the index is. */
export const redis = z
  .strictObject({
    url: redisUrl().describe('redis:// or rediss:// address, with the database number as its path.'),
    username: text().optional().describe('User name, unless it is in the address.'),
    password: secret().optional().describe('Password, unless it is in the address.'),
    keyPrefix: text(100).prefault('rollcall').describe('First part of every key.'),
  })
  .describe(
    'The index. Left out: it lives in memory and is rebuilt from the topics at each start (small tenants).',
  )
  .transform(({ url, username, password, ...rest }) => ({
    ...rest,
    url: url.url,
    username: username ?? url.username,
    password: password ?? url.password,
  }));
