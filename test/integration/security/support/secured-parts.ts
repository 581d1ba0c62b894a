import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startReferenceHub } from '../../../../reference-hub/start-reference-hub.ts';
import type { KafkaSettings } from '../../../../stack/kafka-settings.ts';
import { removeWhenGone } from '../../../../stack/supervised-process.ts';
import { plainKafka } from '../../support/stack-kafka.ts';
import { makeCertificates } from './certificates.ts';
import { startSecuredKafka } from './secured-kafka.ts';

export type SecuredParts = Awaited<ReturnType<typeof startSecuredParts>>;

/** A hub and secured brokers, on which nothing is granted yet, with an administrator of theirs. They end with `parts`. */
export async function startSecuredParts(
  parts: AsyncDisposableStack,
  passwords: { readonly plain: string; readonly scram: string },
  tokenSettings?: KafkaSettings,
) {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-secured-'));
  parts.defer(removeWhenGone(folder));
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  const certificates = await makeCertificates(join(folder, 'certificates'));
  const kafka = parts.use(
    await startSecuredKafka({ folder: join(folder, 'kafka'), certificates, passwords, tokenSettings }),
  );
  const hub = await startReferenceHub({ students: 10, seed: 5 });
  parts.defer(() => hub.stop());
  const admin = plainKafka([kafka.admin]).admin();
  await admin.connect();
  parts.defer(() => admin.disconnect());
  const { baseUrl, tokenUrl, clientId, clientSecret } = hub;
  const connection = { baseUrl, tokenUrl, clientId, clientSecret };
  const north = { id: 'north', hub: connection, collections: ['orgs'], incrementalEvery: '500ms' };
  return {
    folder,
    certificates,
    kafka,
    hub,
    admin,
    /** A configuration of `north` with these services, and with other settings of the tenant. */
    configWith: (services: object, tenant: object = {}): string =>
      JSON.stringify({ tenants: [{ ...north, ...tenant }], ...services }),
    /** The settings of Kafka for this user and password. */
    saslOf: (mechanism: string, password: string) => ({
      brokers: kafka.sasl,
      ssl: { ca: inFile(certificates.ca) },
      sasl: { mechanism, username: 'rollcall', password },
    }),
  };
}

/** A value of a configuration that stands in a file. */
export function inFile(path: string): string {
  return `\${file:${path}}`;
}
