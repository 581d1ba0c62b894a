import { join } from 'node:path';
import { StackError } from './errors.ts';
import { canListen, freePort } from './free-port.ts';
import type { StartedServices, StartServicesOptions } from './local-stack.ts';
import { confluentPath } from './local-registry.ts';
import { runCommand } from './run-command.ts';
import type { Addresses, ServiceName } from './service-names.ts';
import { runWhenGone } from './supervised-process.ts';

const checkout = join(import.meta.dirname, '..');
const composeFile = join(checkout, 'docker-compose.yml');
const projectPrefix = 'rollcall-stack-';

/** The variables of docker-compose.yml for its ports on this machine, and their usual values. */
const ports: Record<ServiceName, { variable: string; usual: number }> = {
  kafka: { variable: 'ROLLCALL_KAFKA_PORT', usual: 9092 },
  registry: { variable: 'ROLLCALL_REGISTRY_PORT', usual: 8081 },
  redis: { variable: 'ROLLCALL_REDIS_PORT', usual: 6379 },
};

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
  const { env, addresses } = await choosePorts(wanted);
  const project = `${projectPrefix}${process.pid}`;
  const compose = ['compose', '-p', project, '-f', composeFile];
  const down = [...compose, 'down', '--volumes', '--timeout', '5'];
  await removeAbandonedProjects(print);
  const isDone = runWhenGone('docker', down, env);
  const stop = async () => {
    await runCommand('docker', down, { env });
    isDone();
  };
  const args = [...compose, 'up', '--detach', '--wait', ...wanted];
  try {
    const { code, output } = await runCommand('docker', args, { env, signal, onOutput: printPulls(print) });
    if (code !== 0)
      throw new StackError(
        `docker compose could not start ${wanted.join(', ')} (exit ${code}):\n${output.trim()}`,
      );
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
export async function startTestcontainers({ wanted }: StartServicesOptions): Promise<StartedServices> {
  const { DockerComposeEnvironment } = await import('testcontainers');
  const { env, addresses } = await choosePorts(wanted);
  const variables = Object.fromEntries(
    wanted.map((name) => [ports[name].variable, env[ports[name].variable] ?? '']),
  );
  const compose = new DockerComposeEnvironment(checkout, 'docker-compose.yml').withEnvironment(variables);
  const { Wait } = await import('testcontainers');
  const started = await compose.withDefaultWaitStrategy(Wait.forHealthCheck()).up([...wanted]);
  const stop = async () => {
    await started.down({ timeout: 5000, removeVolumes: true });
  };
  return { addresses, processes: {}, stop };
}

async function choosePorts(
  wanted: readonly ServiceName[],
): Promise<{ env: NodeJS.ProcessEnv; addresses: Addresses }> {
  const env: NodeJS.ProcessEnv = { ...process.env };
  const addresses: Addresses = {};
  for (const name of wanted) {
    const { variable, usual } = ports[name];
    const port = (await canListen(usual)) ? usual : await freePort();
    env[variable] = String(port);
    addresses[name] = addressOf(name, port);
  }
  return { env, addresses };
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
