import { findDockerEngine, startComposeServices, startTestcontainers } from './docker-services.ts';
import { addressVariables, brokerList, givenAddresses } from './given-addresses.ts';
import { startLocalServices, type StartServicesOptions, type StartedServices } from './local-stack.ts';
import type { LocalService } from './local-service.ts';
import { StackError } from './errors.ts';
import { isKafkaReady, isRedisReady, isRegistryReady } from './readiness.ts';
import { serviceNames, type Addresses, type ServiceName } from './service-names.ts';

export interface StartStackOptions {
  /** Receives one line about the progress. */
  say: (line: string) => void;
  /** Aborts the start; a stack that is up is stopped by `stop`. */
  signal?: AbortSignal | undefined;
  /** How to use a Docker engine, where one runs. Default: `docker-compose`. */
  prefer?: 'docker-compose' | 'testcontainers' | undefined;
}

export type ServiceKind = 'given' | 'docker' | 'local';

/** Real Kafka, schema registry and Redis, ready for work. */
export interface Stack extends AsyncDisposable {
  /** `host:port`. */
  kafkaBrokers: string[];
  /** Base URL of the Confluent-compatible API, without a slash at the end. */
  registryUrl: string;
  redisUrl: string;
  kind: Record<ServiceName, ServiceKind>;
  /** Handles of what runs as a local process, for tests that crash, hang and restart it. */
  processes: Partial<Record<ServiceName, LocalService>>;
  /** Stops what was started, and removes its data. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Brings up Kafka, a schema registry and Redis: those whose address the environment gives are used as they are; the others run in
 * a Docker engine where one answers, else as local processes. What is started ends with this process, however that ends.
 *
 * @throws StackError saying what to do when that is not possible.
 */
export async function startStack(options: StartStackOptions): Promise<Stack> {
  const { say, prefer = 'docker-compose' } = options;
  const signal = options.signal ?? new AbortController().signal;
  const given = givenAddresses(process.env);
  const wanted = serviceNames.filter((name) => given[name] === undefined);
  await checkGiven(given);
  const { how, started } = wanted.length === 0 ? nothing : await startWanted({ wanted, say, signal, prefer });
  const addresses = { ...given, ...started.addresses };
  const kind = Object.fromEntries(
    serviceNames.map((name) => [name, given[name] === undefined ? how : 'given']),
  ) as Stack['kind'];
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= started.stop());
  return {
    kafkaBrokers: brokerList(address(addresses, 'kafka')),
    registryUrl: address(addresses, 'registry'),
    redisUrl: address(addresses, 'redis'),
    kind,
    processes: started.processes,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface StartedSomehow {
  how: ServiceKind;
  started: StartedServices;
}

const nothing: StartedSomehow = {
  how: 'given',
  started: { addresses: {}, processes: {}, stop: async () => undefined },
};

type StartWantedOptions = StartServicesOptions & { prefer: NonNullable<StartStackOptions['prefer']> };

async function startWanted({ prefer, ...options }: StartWantedOptions): Promise<StartedSomehow> {
  const { wanted, say, signal } = options;
  const names = wanted.join(', ');
  if (await findDockerEngine(say)) {
    say(`starting ${names} in Docker`);
    const start = prefer === 'testcontainers' ? startTestcontainers : startComposeServices;
    try {
      return { how: 'docker', started: await start(options) };
    } catch (error) {
      signal.throwIfAborted();
      // an engine without access to the images is no reason to give up
      say(`Docker could not start them, so they run as local processes: ${(error as Error).message}`);
    }
  } else {
    say(`starting ${names} as local processes (no Docker engine is running)`);
  }
  return { how: 'local', started: await startLocalServices(options) };
}

/** A wrong address would otherwise show much later, as a test or a demo that hangs. */
async function checkGiven(given: Addresses): Promise<void> {
  const checks: Record<ServiceName, (address: string) => Promise<boolean>> = {
    kafka: (brokers) => isKafkaReady(brokerList(brokers)),
    registry: (url) => isRegistryReady(url),
    redis: isRedisReady,
  };
  for (const name of serviceNames) {
    const where = given[name];
    if (where === undefined || (await checks[name](where))) continue;
    throw new StackError(
      `${addressVariables[name]} is set, but no ${name} answers there. ` +
        'Start it, correct the variable, or unset it to have one started.',
    );
  }
}

function address(addresses: Addresses, name: ServiceName): string {
  const found = addresses[name];
  if (found === undefined) throw new StackError(`${name} was started, but its address is not known`);
  return found;
}
