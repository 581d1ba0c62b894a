import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StackError } from './errors.ts';
import { canListen, freePort } from './free-port.ts';
import type { StartedServices, StartServicesOptions } from './local-stack.ts';
import { confluentPath } from './local-registry.ts';
import { brokerList } from './given-addresses.ts';
import { registeredBrokers } from './readiness.ts';
import { runCommand } from './run-command.ts';
import type { Addresses, ServiceName } from './service-names.ts';
import { runWhenGone } from './supervised-process.ts';

const checkout = join(import.meta.dirname, '..');
const composeFile = join(checkout, 'docker-compose.yml');
const projectPrefix = 'rollcall-stack-';
const registeredWithinMs = 60_000;

/** What runs in docker-compose.yml for a service: names, the variables of their ports on this machine, and the usual ports. */
export const composeContainers: Record<
  ServiceName,
  readonly { name: string; variable: string; usual: number }[]
> = {
  kafka: [
    { name: 'kafka-1', variable: 'ROLLCALL_KAFKA_PORT', usual: 9092 },
    { name: 'kafka-2', variable: 'ROLLCALL_KAFKA_PORT_2', usual: 9093 },
    { name: 'kafka-3', variable: 'ROLLCALL_KAFKA_PORT_3', usual: 9094 },
  ],
  registry: [{ name: 'registry', variable: 'ROLLCALL_REGISTRY_PORT', usual: 8081 }],
  redis: [{ name: 'redis', variable: 'ROLLCALL_REDIS_PORT', usual: 6379 }],
};

const containersOf = (wanted: readonly ServiceName[]): string[] =>
  wanted.flatMap((name) => composeContainers[name].map((container) => container.name));

/** Whether a Docker engine answers and has the Compose plugin; prints a line if only the plugin is missing. */
export async function findDockerEngine(print: (line: string) => void): Promise<boolean> {
  const engine = await runCommand('docker', ['version', '--format', '{{.Server.Version}}'], {
    timeoutMs: 5000,
  });
  if (engine.code !== 0) return false;
  const compose = await runCommand('docker', ['compose', 'version'], { timeoutMs: 5000 });
  if (compose.code !== 0)
    print('a Docker engine is running, but "docker compose" is missing, so the engine is not used');
  return compose.code === 0;
}

/** Starts services of docker-compose.yml as a separate project. They end with this process. */
export async function startComposeServices({
  wanted,
  print,
  signal,
}: StartServicesOptions): Promise<StartedServices> {
  const { ports, addresses } = await choosePorts(wanted);
  const env = { ...process.env, ...ports };
  const project = `${projectPrefix}${process.pid}`;
  const compose = ['compose', '-p', project, '-f', composeFile];
  const down = [...compose, 'down', '--volumes', '--timeout', '5'];
  await removeAbandonedProjects(print);
  const isDone = runWhenGone('docker', down, env);
  const stop = async () => {
    await runCommand('docker', down, { env });
    isDone();
  };
  const args = [...compose, 'up', '--detach', '--wait', ...containersOf(wanted)];
  try {
    const { code, output } = await runCommand('docker', args, { env, signal, onOutput: printPulls(print) });
    if (code !== 0)
      throw new StackError(
        `docker compose could not start ${wanted.join(', ')} (exit ${code}):\n${output.trim()}`,
      );
    await allRegistered(addresses, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { addresses, processes: {}, stop };
}

/** Prints each download of an image, since the first ones take minutes. */
function printPulls(print: (line: string) => void): (chunk: string) => void {
  return (chunk) => {
    for (const [, what, state] of chunk.matchAll(/^ *(?:Image )?(\S+) (Pulling|Pulled) *$/gm))
      print(state === 'Pulling' ? `downloading the image of ${what}` : `has the image of ${what}`);
  };
}

/** Starts services of docker-compose.yml through testcontainers, whose own container cleans up after this process. */
export async function startTestcontainers({
  wanted,
  signal,
}: StartServicesOptions): Promise<StartedServices> {
  const { DockerComposeEnvironment } = await import('testcontainers');
  const { ports, addresses } = await choosePorts(wanted);
  const compose = new DockerComposeEnvironment(checkout, 'docker-compose.yml').withEnvironment(ports);
  const { Wait } = await import('testcontainers');
  const started = await compose.withDefaultWaitStrategy(Wait.forHealthCheck()).up(containersOf(wanted));
  const stop = async () => {
    await started.down({ timeout: 5000, removeVolumes: true });
  };
  try {
    await allRegistered(addresses, signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return { addresses, processes: {}, stop };
}

/**
 * Waits until all brokers have registered with their cluster: a broker may be healthy a moment before the others know
 * it.
 */
async function allRegistered({ kafka }: Addresses, signal: AbortSignal): Promise<void> {
  if (kafka === undefined) return;
  const brokers = brokerList(kafka);
  const giveUpAtMs = performance.now() + registeredWithinMs;
  while ((await registeredBrokers(brokers)).length < brokers.length) {
    if (performance.now() > giveUpAtMs)
      throw new StackError(`not all of the brokers have registered with their cluster: ${kafka}`);
    await sleep(100, undefined, { signal });
  }
}

async function choosePorts(
  wanted: readonly ServiceName[],
): Promise<{ ports: Record<string, string>; addresses: Addresses }> {
  const ports: Record<string, string> = {};
  const addresses: Addresses = {};
  for (const name of wanted) {
    const chosen: number[] = [];
    for (const { variable, usual } of composeContainers[name]) {
      const port = (await canListen(usual)) ? usual : await freePort();
      ports[variable] = String(port);
      chosen.push(port);
    }
    addresses[name] = chosen.map((port) => addressOf(name, port)).join(',');
  }
  return { ports, addresses };
}

function addressOf(name: ServiceName, port: number): string {
  if (name === 'kafka') return `localhost:${port}`;
  return name === 'registry' ? `http://localhost:${port}${confluentPath}` : `redis://localhost:${port}`;
}

/** Removes the services of processes that no longer exist, for example after a crash of the machine. */
async function removeAbandonedProjects(print: (line: string) => void): Promise<void> {
  const { output } = await runCommand('docker', [
    'compose',
    'ls',
    '--all',
    '--quiet',
    '--filter',
    `name=${projectPrefix}`,
  ]);
  for (const project of output.split('\n')) {
    const pid = Number(project.slice(projectPrefix.length));
    if (!project.startsWith(projectPrefix) || isAlive(pid)) continue;
    print(`removing ${project}, whose process no longer exists`);
    await runCommand('docker', [
      'compose',
      '-p',
      project,
      '-f',
      composeFile,
      'down',
      '--volumes',
      '--timeout',
      '5',
    ]);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
