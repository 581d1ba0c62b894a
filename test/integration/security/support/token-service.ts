import { generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import type { KafkaSettings } from '../../../../stack/kafka-settings.ts';
import type { Certificates } from './certificates.ts';

const ID = 'rollcall';
const AUDIENCE = 'brokers';

/** A token service (OpenID Connect) whose client `rollcall` gets tokens for brokers. */
export async function startTokenService({ server: { cert, key } }: Certificates, clientSecret: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const tls = createServer({ cert: readFileSync(cert), key: readFileSync(key) });
  // The brokers would need the authority for their keys, too.
  const open = createHttpServer();
  const [issuer, keys] = [`https://${await listening(tls)}`, `http://${await listening(open)}/jwks`];
  const client = {
    client_id: ID,
    client_secret: clientSecret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [] as never[],
  };
  const provider = new Provider(issuer, {
    clients: [client],
    jwks: {
      keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'one' }],
    },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:brokers',
        getResourceServerInfo: () => ({
          scope: 'write',
          audience: AUDIENCE,
          accessTokenTTL: service.lifetimeSeconds,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
  });
  provider.on('client_credentials.issued', () => (service.issued += 1));
  const answer = provider.callback();
  for (const server of [tls, open])
    server.on('request', (request, response) => void answer(request, response));
  const service = {
    /** `https://`, with a certificate of the authority. */
    tokenUrl: `${issuer}/token`,
    /** How long the tokens that it issues are good. */
    lifetimeSeconds: 3600,
    /** How many tokens it has issued. */
    issued: 0,
    /** Where its keys are. */
    keysUrl: keys,
    /** The settings of brokers that take its tokens at their SASL listener, besides passwords. */
    kafkaSettings: brokersFor(issuer, keys),
    /** Whether it has signed the token that a request has in its header. */
    hasSigned: (authorization: string) => isSigned(authorization.replace(/^Bearer /, ''), publicKey),
    /** A token of `rollcall`. */
    async issue(): Promise<string> {
      // Without TLS, since this process does not know the authority.
      const form = new URLSearchParams({ grant_type: 'client_credentials' });
      const authorization = `Basic ${btoa(`${ID}:${clientSecret}`)}`;
      const answer = await fetch(keys.replace(/jwks$/, 'token'), {
        method: 'POST',
        headers: { authorization },
        body: form,
      });
      return ((await answer.json()) as { access_token: string }).access_token;
    },
    async [Symbol.asyncDispose]() {
      await closed(tls);
      await closed(open);
    },
  };
  return service;
}

function brokersFor(issuer: string, keys: string): KafkaSettings {
  const module = 'org.apache.kafka.common.security.oauthbearer';
  const mechanism = 'listener.name.sasl.oauthbearer.sasl';
  return {
    'listener.name.sasl.sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
    [`${mechanism}.jaas.config`]: `${module}.OAuthBearerLoginModule required;`,
    [`${mechanism}.server.callback.handler.class`]: `${module}.OAuthBearerValidatorCallbackHandler`,
    // Without it, the brokers of Kafka 4.1 verify no signature.
    'sasl.oauthbearer.jwt.validator.class': `${module}.BrokerJwtValidator`,
    'sasl.oauthbearer.jwks.endpoint.url': keys,
    'sasl.oauthbearer.expected.issuer': issuer,
    'sasl.oauthbearer.expected.audience': AUDIENCE,
  };
}

function isSigned(token: string, publicKey: KeyObject): boolean {
  const [head, body, signature = ''] = token.split('.');
  return verify('RSA-SHA256', Buffer.from(`${head}.${body}`), publicKey, Buffer.from(signature, 'base64url'));
}

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await once(server.close(), 'close');
}
