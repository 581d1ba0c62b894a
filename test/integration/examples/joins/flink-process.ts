import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { inject } from 'vitest';
import { findJava, findMaven } from '../../../../stack/java-tools.ts';
import { runCommand } from '../../../../stack/run-command.ts';

const PROJECT = fileURLToPath(new URL('../../../../examples/flink-join', import.meta.url));

/** Builds examples/flink-join as a user would: the libraries come from Maven Central. */
export async function buildFlinkJoin(): Promise<void> {
  const args = ['-B', '-q', '-f', join(PROJECT, 'pom.xml'), 'package'];
  const { code, output } = await runCommand(findMaven(), args);
  if (code !== 0) throw new Error(`examples/flink-join could not be built:\n${output}`);
}

/** A Flink that runs the file of SQL. Disposing of it kills it. */
export interface FlinkProcess extends AsyncDisposable {
  /** Throws, with what it said, when the process has ended. */
  expectAlive(): void;
  /** Resolves when it is gone. */
  kill(): Promise<void>;
}

/**
 * @param options `topics`: `<prefix>.<tenant>`; `output`: an existing topic; `checkpoints`: a folder, with the checkpoints
 *   of the start before for one that goes on.
 */
export async function startFlinkJoin(options: {
  topics: string;
  output: string;
  checkpoints: string;
}): Promise<FlinkProcess> {
  const { kafkaBrokers, registryUrl } = inject('stack');
  const { path: java } = await findJava();
  const sql = join(PROJECT, 'absence-lessons.sql');
  const child = spawn(java, ['-Xmx512m', '-jar', join(PROJECT, 'target', 'flink-join.jar'), sql], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      BROKERS: kafkaBrokers.join(','),
      REGISTRY: registryUrl,
      TOPICS: options.topics,
      OUTPUT: options.output,
      CHECKPOINTS: pathToFileURL(options.checkpoints).href,
    },
  });
  // An interrupted test run leaves no process behind.
  const killWithUs = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithUs);
  let said = '';
  let hasEnded = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-20_000);
    });
  }
  const ended = once(child, 'close').finally(() => {
    hasEnded = true;
    process.off('exit', killWithUs);
  });
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return {
    kill,
    [Symbol.asyncDispose]: kill,
    expectAlive() {
      if (hasEnded) throw new Error(`Flink ended. It said:\n${said}`);
    },
  };
}
