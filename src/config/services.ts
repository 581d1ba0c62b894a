import { z } from 'zod';
import { COLLECTIONS, type TopicSuffix } from '../model/collections.ts';
import {
  address,
  addresses,
  crossesInTheClear,
  duration,
  flag,
  secret,
  text,
  tokenClient,
  wholeNumber,
} from './fields.ts';
import { Secret } from './redacted-secret.ts';

/** Large enough for the certificates of all authorities that a system trusts. */
const MOST_PEM_CHARACTERS = 1_048_576;

/** Certificates are not secret, but they change with their files, as the key that belongs to them does. */
function pem() {
  return text(MOST_PEM_CHARACTERS)
    .regex(/-----BEGIN [A-Z ]+-----/, { error: 'is not PEM: "-----BEGIN …" is expected' })
    .transform((value) => new Secret(value));
}

/** TLS of the connections to a service. */
function tls() {
  return z.strictObject({
    ca: pem().optional().describe('CA certificates, PEM. They replace those of the system.'),
    cert: pem().optional().describe('Client certificate, PEM.'),
    key: pem().optional().describe('Key of the client certificate, PEM.'),
    passphrase: secret().optional().describe('Passphrase of that key, if the key is encrypted.'),
    rejectUnauthorized: flag()
      .prefault(true)
      .describe('`false` accepts any certificate. Never use it in production.'),
  });
}

/** A client of a token service (OAuth 2.0, client credentials). */
const oauthClient = {
  ...tokenClient,
  audience: text().optional().describe('Audience to request, for token services that want one.'),
  ca: pem().optional().describe('CA certificates of the token service, PEM.'),
};

/** SASL mechanisms, in lower case, or in upper case as Kafka's documentation writes them. */
function mechanism<const Name extends string>(...names: readonly Name[]) {
  return z
    .enum([...names, ...names.map((name) => name.toUpperCase())])
    .transform((written) => written.toLowerCase() as Name);
}

/** How a process logs in to Kafka. */
const sasl = z.discriminatedUnion(
  'mechanism',
  [
    z.strictObject({
      mechanism: mechanism('plain', 'scram-sha-256', 'scram-sha-512').describe(
        'SASL mechanism with a user name and a password.',
      ),
      username: text().describe('User name.'),
      password: secret().describe('Password.'),
    }),
    z.strictObject({
      mechanism: mechanism('oauthbearer').describe(
        'SASL mechanism with tokens, which Rollcall gets from a token service.',
      ),
      ...oauthClient,
      extensions: z
        .record(z.string().regex(/^[A-Za-z]+$/), text())
        .optional()
        .describe(
          'SASL extensions by name, for brokers that want them: `logicalCluster` and `identityPoolId` at Confluent Cloud.',
        ),
    }),
    z.strictObject({
      mechanism: mechanism('aws-msk-iam').describe(
        'Log-in to Amazon MSK with the IAM credentials of this process.',
      ),
      region: text(100).describe('AWS region of the cluster.'),
    }),
  ],
  {
    error:
      'must be one of plain, scram-sha-256, scram-sha-512, oauthbearer, aws-msk-iam, or one of these in upper case',
  },
);

/** The connection to Kafka, and the settings of topics. */
export const kafka = z
  .strictObject({
    brokers: z
      .array(
        text().regex(/^[^\s/,@]+:\d{1,5}( *, *[^\s/,@]+:\d{1,5})*$/, {
          error: 'must be host:port; several: [a:9092, b:9092], or with commas in one entry',
        }),
      )
      .min(1, { error: 'names no broker' })
      .transform((entries) => entries.flatMap((entry) => entry.split(/ *, */)))
      .describe(
        'Bootstrap brokers, host:port. An entry may name several, with commas between them, as `bootstrap.servers` does.',
      ),
    topicPrefix: text(100)
      .regex(/^[a-zA-Z0-9._-]+$/, { error: 'may contain only a-z, A-Z, 0-9, ".", "_" and "-"' })
      .prefault('rollcall')
      .describe('First part of the names of topics and of transactional ids.'),
    replicationFactor: wholeNumber({ min: 1, max: 100 })
      .prefault(3)
      .describe('Replication factor of new topics.'),
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
        'Number of partitions of new topics: one number for all, or a map with a number for some collections, and a `default` for the others. `progress` always has 1. To change the number of an existing topic, run `rollcall topics recreate`.',
      ),
    session: duration({ min: '6s', max: '1m' })
      .prefault('10s')
      .describe(
        'If a process has no contact with Kafka for this long, other processes take over its tenants.',
      ),
    ssl: z
      .union([flag(), tls()], { error: 'must be true, false or a map of settings' })
      .prefault(false)
      .describe('Whether connections use TLS. A map of settings turns TLS on, and sets certificates.'),
    sasl: sasl.optional().describe('Log-in by SASL. Without this map, Rollcall does not log in.'),
  })
  .transform(({ session, ...rest }) => ({ ...rest, sessionMs: session }))
  .describe('Kafka.');

function partitionCount() {
  return wholeNumber({ min: 1, max: 10_000 });
}

/** The connection to the schema registry. */
export const registry = z
  .strictObject({
    url: address('https:', 'http:').describe('Address of a Confluent-compatible schema registry.'),
    username: text()
      .optional()
      .describe('User name. Without a user name, `bearerToken` or `oauth`, Rollcall does not log in.'),
    password: secret().optional().describe('Password of that user.'),
    bearerToken: secret().optional().describe('Token to send, in place of a user name.'),
    oauth: z
      .strictObject(oauthClient)
      .optional()
      .describe(
        'Tokens from a token service, in place of a user name. Each key means what it means in `kafka.sasl`.',
      ),
    ssl: tls().optional().describe('Certificates for `https://`. The keys are those of `kafka.ssl`.'),
  })
  .describe('The schema registry.');

/** The connection to Redis. */
export const redis = z
  .strictObject({
    url: addresses('redis:', 'rediss:')
      .refine((url) => /^\w+:\/\/[^/]+(\/\d{1,5})?$/.test(url), {
        error: 'may have only a database number as its path, for example /0',
      })
      .describe(
        'Address: `redis://` or, with TLS, `rediss://`. The path is the database number. Name several Sentinels, or several nodes of a Cluster, in one address: `redis://a:6379,b:6379`.',
      ),
    sentinel: z
      .strictObject({
        master: text(255).describe('Name by which the Sentinels know the primary.'),
        username: text().optional().describe('User name at the Sentinels.'),
        password: secret().optional().describe('Password at the Sentinels.'),
      })
      .optional()
      .describe('Set this map if `url` names Sentinels.'),
    cluster: flag()
      .prefault(false)
      .describe('Whether `url` names nodes, or the configuration endpoint, of a Redis Cluster.'),
    ssl: tls()
      .omit({ rejectUnauthorized: true })
      .extend({
        serverName: text(255)
          .optional()
          .describe('Host name in the certificates, if servers are reached by other addresses.'),
      })
      .optional()
      .describe('Certificates for `rediss://`, for Redis and Sentinels.'),
    username: text().optional().describe('User name. Without it, Redis uses its default user.'),
    password: secret().optional().describe('Password.'),
    keyPrefix: text(100)
      .regex(/^[^{}\s]+$/, { error: 'must not contain braces or spaces' })
      .prefault('rollcall')
      .describe('First part of every key in Redis.'),
  })
  .describe('Where the index is. Without Redis it is in memory and is rebuilt at each start.');

/** The receiver of notices. Its address is often a secret itself, as in Slack. */
export const notify = z
  .strictObject({
    url: secret()
      .refine((url) => isWebAddress(url.reveal()), {
        error: 'is not an address: https://host/path is expected, without a user name or password',
      })
      .describe(
        'Address that Rollcall posts to when something needs a person, and again when nobody is needed any more. Keep the address secret: if it belongs to a chat, everyone who knows it can write to the chat.',
      ),
    token: secret().optional().describe('Sent as `Authorization: Bearer …`.'),
    after: duration({ min: '1s', max: '1d' })
      .prefault('2m')
      .describe('Rollcall posts only what has needed a person for this long.'),
  })
  .refine(({ url, token }) => token === undefined || !crossesInTheClear(url.reveal()), {
    path: ['url'],
    error: 'must begin with https://, or notify.token would cross the network unencrypted',
  })
  .transform(({ after, ...rest }) => ({ ...rest, afterMs: after }))
  .describe(
    'Where Rollcall reports what needs a person. Without this map, look at the status page or at the alerts.',
  );

function isWebAddress(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, username, password } = new URL(value);
  return ['https:', 'http:'].includes(protocol) && username === '' && password === '';
}
