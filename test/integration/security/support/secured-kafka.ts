import { freePort } from '../../../../stack/free-port.ts';
import type { KafkaSettings } from '../../../../stack/kafka-settings.ts';
import { startTestKafka } from '../../support/local-kafka.ts';
import type { Certificates } from './certificates.ts';

const BROKERS = 3;
const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
/**
 * The brokers break a connection that is used after this time (KIP-368). A client that authenticated again on the same
 * connection would have to do so within a second, which the brokers refuse.
 */
const SESSION_MS = 1_000;

/** Three brokers that let in only clients with credentials, over TLS, and give them only the rights that they are granted. */
export async function startSecuredKafka(options: {
  readonly folder: string;
  readonly certificates: Certificates;
  readonly passwords: { readonly plain: string; readonly scram: string };
  /** The settings by which they take tokens, too. */
  readonly tokenSettings?: KafkaSettings | undefined;
}) {
  const { folder, certificates, passwords, tokenSettings } = options;
  const ports: { readonly sasl: number; readonly mutualTls: number }[] = [];
  while (ports.length < BROKERS) ports.push({ sasl: await freePort(), mutualTls: await freePort() });
  const kafka = await startTestKafka({
    folder,
    brokers: BROKERS,
    listenersOf: (id) => [
      { name: 'SASL', port: ports[id - 1]?.sasl ?? 0, protocol: 'SASL_SSL' },
      { name: 'MTLS', port: ports[id - 1]?.mutualTls ?? 0, protocol: 'SSL' },
    ],
    settings: { ...security(certificates, passwords.plain), ...tokenSettings },
    credentials: SCRAM.map((name) => `${name}=[name=rollcall,password=${passwords.scram}]`),
  });
  return {
    /** Addresses for SASL_SSL, with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512: user `rollcall`. */
    sasl: ports.map(({ sasl }) => `127.0.0.1:${sasl}`),
    /** Addresses for TLS with certificates of clients: user `rollcall`. */
    mutualTls: ports.map(({ mutualTls }) => `127.0.0.1:${mutualTls}`),
    /** Without anything, for the administrator. */
    admin: kafka.brokers[0]?.address ?? '',
    /** Replaces the password for SCRAM-SHA-512. */
    async setPassword(password: string): Promise<void> {
      const alter = ['--alter', '--entity-type', 'users', '--entity-name', 'rollcall', '--add-config'];
      const added = `SCRAM-SHA-512=[password=${password}]`;
      const { code, output } = await kafka.tool('kafka.admin.ConfigCommand', [...alter, added]);
      if (code !== 0) throw new Error(`the password could not be set: ${output}`);
    },
    [Symbol.asyncDispose]: kafka.stop,
  };
}

function security(
  { ca, server }: Certificates,
  plainPassword: string,
): Readonly<Record<string, string | number>> {
  const module = 'org.apache.kafka.common.security';
  return {
    'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
    // the administrator's listener knows no users
    'super.users': 'User:ANONYMOUS',
    'ssl.keystore.type': 'PEM',
    'ssl.keystore.location': server.both,
    'ssl.truststore.type': 'PEM',
    'ssl.truststore.location': ca,
    'listener.name.mtls.ssl.client.auth': 'required',
    'listener.name.mtls.ssl.principal.mapping.rules': 'RULE:^CN=(.*)$/$1/',
    'listener.name.sasl.connections.max.reauth.ms': SESSION_MS,
    'listener.name.sasl.sasl.enabled.mechanisms': ['PLAIN', ...SCRAM].join(','),
    'listener.name.sasl.plain.sasl.jaas.config': `${module}.plain.PlainLoginModule required user_rollcall="${plainPassword}";`,
    'listener.name.sasl.scram-sha-256.sasl.jaas.config': `${module}.scram.ScramLoginModule required;`,
    'listener.name.sasl.scram-sha-512.sasl.jaas.config': `${module}.scram.ScramLoginModule required;`,
  };
}
