import type { SASLOptions } from 'kafkajs';
import { setFlagsFromString } from 'node:v8';
import type { Config } from '../config.ts';
import type { PipelineEvent } from '../core/pipeline-events.ts';
import { createKafkaConnections } from '../log/kafka-client.ts';
import type { KafkaConnection } from '../log/wire/kafka-broker.ts';
import { oauthLogin } from '../log/oauth-login.ts';
import type { KafkaConnections } from '../log/wire/kafka-connections.ts';
import { Registry } from '../log/registry/registry.ts';
import type { RegistryConnection } from '../log/registry/registry-http.ts';
import { awsTokens } from './aws-tokens.ts';
import { compileSchemas } from './compiled-schemas.ts';
import { hubHosts } from './hub-hosts.ts';
import { openStateStore, tlsOf } from './state-store.ts';
import { tokensOf } from './token-services.ts';
import { startTenant, type Shared, type StartedTenant } from './started-tenant.ts';

/** The clients of a process, as the configuration says. Nothing is connected yet. */
export interface Assembly extends AsyncDisposable, Omit<Shared, 'compiled' | 'hostOf'> {
  /** Makes a new object for a tenant each time. The caller disposes of it if it uses the hub or the log. */
  tenant(tenantId: string): StartedTenant;
}

/** `emit` gets an event for each thing that this process does as the owner of a tenant. */
export function assemble(
  config: Config,
  emit: (tenantId: string, event: PipelineEvent) => void = () => undefined,
): Assembly {
  // On a machine with much memory, V8 lets the heap grow to four times its live content before it collects the whole
  // heap. With twice the content, a first sync takes up to a quarter less memory, and up to a tenth more CPU time
  // (docs/performance.md). A bound in MB instead would be too small for some tenants. This is set here, not at the
  // start of the process, because V8 refuses compiled modules that were cached under other flags.
  setFlagsFromString('--heap-growing-percent=100');
  const shared = {
    config,
    kafka: kafkaOf(config),
    registry: new Registry(registryConnection(config.registry)),
    store: openStateStore(config),
    compiled: compileSchemas(() => config.pseudonymise?.key.reveal()),
    hostOf: hubHosts(),
  };
  return {
    ...shared,
    tenant(tenantId) {
      const tenantConfig = config.tenants.find(({ id }) => id === tenantId);
      if (tenantConfig === undefined) throw new Error(`no tenant ${tenantId}`);
      return startTenant(shared, tenantConfig, (event) => emit(tenantId, event));
    },
    [Symbol.asyncDispose]() {
      shared.kafka[Symbol.dispose]();
      return shared.store.close();
    },
  };
}

function kafkaOf(config: Config): KafkaConnections {
  const { brokers, ssl, sasl, sessionMs } = config.kafka;
  return createKafkaConnections({
    brokers,
    clientId: 'rollcall',
    sessionMs,
    tls: typeof ssl === 'boolean' ? ssl : tlsOf(ssl),
    sasl: sasl && loginOf(sasl),
  });
}

function loginOf(sasl: NonNullable<Config['kafka']['sasl']>): KafkaConnection['sasl'] {
  if (sasl.mechanism === 'oauthbearer') return oauthLogin(tokensOf(sasl, 'kafka.sasl'), sasl.extensions);
  if (sasl.mechanism === 'aws-msk-iam') return oauthLogin(awsTokens(sasl.region));
  return {
    mechanism: sasl.mechanism,
    username: sasl.username,
    get password() {
      return sasl.password.reveal();
    },
  } as SASLOptions;
}

export function registryConnection(registry: Config['registry']): RegistryConnection {
  const { url, username, password, bearerToken, oauth, ssl } = registry;
  const fixed = bearerToken && { get: async () => bearerToken.reveal(), refused: () => false };
  return {
    url,
    username,
    password: password && (() => password.reveal()),
    tokens: oauth === undefined ? fixed : tokensOf(oauth, 'registry.oauth'),
    certificates: ssl && (() => ({ ...tlsOf(ssl) })),
  };
}
