import {
  composeContainers,
  findDockerEngine,
  startComposeServices,
  startTestcontainers,
} from './docker-services.ts';
import { addressVariables, brokerList, givenAddresses } from './given-addresses.ts';
import { groundInUse, groundVariable } from './grounds.ts';
import type { BrokerCount } from './broker-count.ts';
import {
  startLocalServices,
  type ServiceProcesses,
  type StartServicesOptions,
  type StartedServices,
} from './local-stack.ts';
import { StackError } from './errors.ts';
import { isRedisReady, isRegistryReady, registeredBrokers } from './readiness.ts';
import { serviceNames, type Addresses, type ServiceName } from './service-names.ts';

export interface StartStackOptions {
  /** Called with each line about the progress. */
  print: (line: string) => void;
  /** Aborts the start. To stop a started stack, call `stop`. */
  signal?: AbortSignal | undefined;
  /** How many brokers Kafka has if it is started. Default: three, as users have. */
  brokers?: BrokerCount | undefined;
  /** Whether local brokers run as Kafka's own script runs them: their start takes longer, and then they need less CPU. */
  isLongRun?: boolean | undefined;
  /** How to use a running Docker engine. Default: `docker-compose`. */
  prefer?: 'docker-compose' | 'testcontainers' | undefined;
}

export type ServiceKind = 'given' | 'docker' | 'local';

/** Real Kafka, schema registry and Redis, ready for work. */
export interface Stack extends AsyncDisposable {
  /** `host:port`. */
  kafkaBrokers: string[];
  /** Base URL of the Confluent-compatible API, without a trailing slash. */
  registryUrl: string;
  redisUrl: string;
  /** How many replicas a topic is to have: three, or as many as there are brokers. */
  replicationFactor: number;
  kind: Record<ServiceName, ServiceKind>;
  /** For tests that crash, hang and restart them. */
  processes: ServiceProcesses;
  /** Stops the services that this stack started, and removes their data. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts Kafka, a schema registry and Redis. It uses a service whose address is in the environment; the others run in a
 * Docker engine if one answers, else as local processes. Started services end with this process, even if it is killed.
 * Another number of brokers than that of docker-compose.yml, and a ground of grounds.ts, need local processes.
 *
 * @throws StackError with a remedy when that is not possible.
 */
export async function startStack(options: StartStackOptions): Promise<Stack> {
  const { print, brokers = 3, isLongRun = false, prefer = 'docker-compose' } = options;
  const signal = options.signal ?? new AbortController().signal;
  const given = givenAddresses(process.env);
  const wanted = serviceNames.filter((name) => given[name] === undefined);
  await checkGiven(given);
  const { how, started } =
    wanted.length === 0 ? nothing : await startWanted({ wanted, brokers, isLongRun, print, signal, prefer });
  const addresses = { ...given, ...started.addresses };
  const kind = Object.fromEntries(
    serviceNames.map((name) => [name, given[name] === undefined ? how : 'given']),
  ) as Stack['kind'];
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= started.stop());
  const kafkaBrokers = brokerList(address(addresses, 'kafka'));
  return {
    kafkaBrokers,
    registryUrl: address(addresses, 'registry'),
    redisUrl: address(addresses, 'redis'),
    replicationFactor: Math.min((await registeredBrokers(kafkaBrokers)).length, 3),
    kind,
    processes: started.processes,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

interface StartedBy {
  how: ServiceKind;
  started: StartedServices;
}

const nothing: StartedBy = {
  how: 'given',
  started: { addresses: {}, processes: {}, stop: async () => undefined },
};

type StartWantedOptions = StartServicesOptions & { prefer: NonNullable<StartStackOptions['prefer']> };

async function startWanted({ prefer, ...options }: StartWantedOptions): Promise<StartedBy> {
  const { wanted, brokers, print, signal } = options;
  const names = wanted.join(', ');
  const ground = groundInUse();
  const inCompose = composeContainers.kafka.length;
  if (ground !== null) {
    print(
      `starting ${names} as local processes on the ground ${process.env[groundVariable]}: ${ground.summary}`,
    );
  } else if (wanted.includes('kafka') && brokers !== inCompose) {
    print(`starting ${names} as local processes (docker-compose.yml has ${inCompose} brokers)`);
  } else if (await findDockerEngine(print)) {
    print(`starting ${names} in Docker`);
    const start = prefer === 'testcontainers' ? startTestcontainers : startComposeServices;
    try {
      return { how: 'docker', started: await start(options) };
    } catch (error) {
      signal.throwIfAborted();
      // an engine without access to the images must not fail the start
      print(`Docker could not start them, so they run as local processes: ${(error as Error).message}`);
    }
  } else {
    print(`starting ${names} as local processes (no Docker engine is running)`);
  }
  return { how: 'local', started: await startLocalServices(options) };
}

/** Fails early on a wrong address, which would otherwise make a test or the demo hang much later. */
async function checkGiven(given: Addresses): Promise<void> {
  const checks: Record<ServiceName, (address: string) => Promise<boolean>> = {
    kafka: async (brokers) => (await registeredBrokers(brokerList(brokers))).length > 0,
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
