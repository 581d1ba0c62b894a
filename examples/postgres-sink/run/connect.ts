import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { StackError } from '../../../stack/errors.ts';
import { freePort } from '../../../stack/free-port.ts';
import { findJava, findMaven } from '../../../stack/java-tools.ts';
import { startLocalService } from '../../../stack/local-service.ts';
import { mavenProgress } from '../../../stack/maven-progress.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { removeWhenGone } from '../../../stack/supervised-process.ts';

const EXAMPLE = join(import.meta.dirname, '..');

/** How to wait for something. */
export interface Waiting {
  readonly signal: AbortSignal;
  /** Called with a text for people that says how far along the work is. */
  readonly onWait?: (state: string) => void;
}

/** Lets Maven download Kafka Connect, the sink and the converter, if they are not there yet. */
export async function fetchConnect({ signal, onWait }: Waiting): Promise<void> {
  const progress = mavenProgress();
  const onOutput = (chunk: string): void => {
    progress.take(chunk);
    if (progress.bytes() > 0) onWait?.(`${Math.round(progress.bytes() / 1e6)} MB`);
  };
  const args = ['-f', join(EXAMPLE, 'pom.xml'), '-Dstyle.color=never', 'package'];
  const { code, output } = await runCommand(findMaven(), args, { signal, onOutput });
  if (code === 0) return;
  const errors = output.split(/[\r\n]+/).filter((line) => line.startsWith('[ERROR]'));
  throw new StackError(`Maven could not fetch Kafka Connect:\n${errors.join('\n')}`);
}

export interface Connect extends AsyncDisposable {
  /** Of its REST API. */
  readonly url: string;
  readonly connectors: readonly string[];
  /** What its REST API says of a connector's positions, as JSON. */
  positions(connector: string): Promise<string>;
  /** Throws StackError with the reason if a task has failed. */
  check(): Promise<void>;
  /** Kills it as `kill -9` does, and starts it again. */
  killAndStart(): Promise<void>;
}

/** Starts Kafka Connect with all connectors of this folder; resolves when their tasks run. */
export async function startConnect(
  env: Readonly<Record<string, string>>,
  { signal, onWait = () => undefined }: Waiting,
): Promise<Connect> {
  const files = globSync(join(EXAMPLE, 'connectors', '*.properties')).toSorted();
  const connectors = files.map((file) => basename(file, '.properties'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-connect-'));
  const keep = removeWhenGone(folder);
  const status = async (name: string): Promise<Status> => {
    const response = await fetch(`${url}/connectors/${name}/status`, { signal });
    return response.ok ? ((await response.json()) as Status) : { tasks: [] };
  };
  const java = (await findJava()).path;
  const variables = Object.entries({ ...env, CONNECT_PORT: String(port), JAVA: java }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const service = await startLocalService(
    {
      name: 'Kafka Connect',
      command: 'env',
      args: [...variables, join(EXAMPLE, 'connect.sh')],
      folder,
      async isReady() {
        const all = await Promise.all(connectors.map(status));
        const run = all.filter(({ tasks }) => tasks.some(({ state }) => state !== 'UNASSIGNED'));
        onWait(`${run.length} of ${all.length} connectors run`);
        return run.length === all.length;
      },
      readyTimeoutMs: 180_000,
      stopTimeoutMs: 20_000,
    },
    signal,
  );
  return {
    url,
    connectors,
    async positions(connector) {
      return (await fetch(`${url}/connectors/${connector}/offsets`, { signal })).text();
    },
    async check() {
      if (!service.isRunning())
        throw new StackError(
          `Kafka Connect has ended:\n${(await readFile(service.logFile, 'utf8')).slice(-4_000)}`,
        );
      for (const name of connectors) {
        const failed = (await status(name)).tasks.find(({ state }) => state === 'FAILED');
        if (failed !== undefined) throw new StackError(`the sink ${name} has failed:\n${failed.trace}`);
      }
    },
    killAndStart: () => service.restart(),
    async [Symbol.asyncDispose]() {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
      keep();
    },
  };
}

interface Status {
  readonly tasks: readonly { readonly state: string; readonly trace?: string }[];
}
