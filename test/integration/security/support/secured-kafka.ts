import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatKafka } from '../../../../stack/format-kafka.ts';
import { freePort } from '../../../../stack/free-port.ts';
import { startArchive } from '../../../../stack/java-archive.ts';
import { findJava } from '../../../../stack/java-tools.ts';
import { fetchParts } from '../../../../stack/local-parts.ts';
import { startLocalService } from '../../../../stack/local-service.ts';
import { isKafkaReady } from '../../../../stack/readiness.ts';
import { runCommand } from '../../../../stack/run-command.ts';
import type { Certificates } from './certificates.ts';

/** A broker that lets in only clients with credentials, over TLS, and gives them only the rights that they are granted. */
export interface SecuredKafka {
  /** SASL_SSL, with PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512: user `rollcall`. */
  readonly sasl: string;
  /** TLS with certificates of clients: user `rollcall`. */
  readonly mutualTls: string;
  /** Without anything, for the administrator. */
  readonly admin: string;
  /** Replaces the password for SCRAM-SHA-512. */
  setPassword(password: string): Promise<void>;
  stop(): Promise<void>;
}

const SCRAM = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const;
/** Kafka ends a connection whose client has not authenticated again within this time (KIP-368). */
const SESSION_MS = 11_000;

export async function startSecuredKafka(options: {
  readonly folder: string;
  readonly certificates: Certificates;
  readonly passwords: { readonly plain: string; readonly scram: string };
}): Promise<SecuredKafka> {
  const { folder, certificates, passwords } = options;
  await mkdir(folder, { recursive: true });
  const [admin, sasl, mutualTls, controller] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const java = await findJava();
  const { kafka } = await fetchParts(['kafka'], { print: () => undefined });
  const properties = join(folder, 'server.properties');
  const ports = { admin, sasl, mutualTls, controller };
  const settings = {
    ...basics(ports, join(folder, 'data')),
    ...security(certificates, passwords.plain),
  };
  await writeFile(properties, asText(settings));
  const archive = startArchive({ java, folder: kafka, name: 'kafka' });
  const javaFlags = [
    ...archive.flags.filter((flag) => !flag.startsWith('-XX:ArchiveClassesAtExit=')),
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    '-cp',
    join(kafka, '*'),
  ];
  const credentials = SCRAM.map((name) => `${name}=[name=rollcall,password=${passwords.scram}]`);
  await formatKafka({ javaPath: java.path, javaFlags, properties, credentials });
  const brokers = [`127.0.0.1:${admin}`];
  const service = await startLocalService(
    {
      name: 'a secured Kafka',
      command: java.path,
      args: ['-Xmx384m', ...javaFlags, 'kafka.Kafka', properties],
      folder,
      isReady: () => isKafkaReady(brokers),
      readyTimeoutMs: 120_000,
      stopTimeoutMs: 1,
    },
    new AbortController().signal,
  );
  return {
    sasl: `127.0.0.1:${sasl}`,
    mutualTls: `127.0.0.1:${mutualTls}`,
    admin: `127.0.0.1:${admin}`,
    async setPassword(password) {
      const alter = ['--alter', '--entity-type', 'users', '--entity-name', 'rollcall', '--add-config'];
      const added = `SCRAM-SHA-512=[password=${password}]`;
      const tool = ['kafka.admin.ConfigCommand', '--bootstrap-server', `127.0.0.1:${admin}`];
      const { code, output } = await runCommand(java.path, [...javaFlags, ...tool, ...alter, added]);
      if (code !== 0) throw new Error(`the password could not be set: ${output}`);
    },
    stop: () => service.stop(),
  };
}

type Settings = Readonly<Record<string, string | number | boolean>>;

function basics(ports: Readonly<Record<string, number>>, data: string): Settings {
  const listeners = { ADMIN: ports['admin'], SASL: ports['sasl'], MTLS: ports['mutualTls'] };
  const addresses = Object.entries(listeners).map(([name, port]) => `${name}://127.0.0.1:${port}`);
  return {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.bootstrap.servers': `127.0.0.1:${ports['controller']}`,
    'controller.listener.names': 'CONTROLLER',
    'inter.broker.listener.name': 'ADMIN',
    listeners: [...addresses, `CONTROLLER://127.0.0.1:${ports['controller']}`].join(','),
    'advertised.listeners': addresses.join(','),
    'listener.security.protocol.map': 'ADMIN:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL:SASL_SSL,MTLS:SSL',
    'log.dirs': data,
    'auto.create.topics.enable': false,
    'group.initial.rebalance.delay.ms': 0,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 1,
    'log.cleaner.dedupe.buffer.size': 16 * 1024 * 1024,
  };
}

function security({ ca, server }: Certificates, plainPassword: string): Settings {
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

function asText(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
