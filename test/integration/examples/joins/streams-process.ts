import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { findJava, findMaven } from '../../../../stack/java-tools.ts';
import { runCommand } from '../../../../stack/run-command.ts';

const PROJECT = fileURLToPath(new URL('../../../../examples/streams-join', import.meta.url));

/** Builds examples/streams-join and runs its own tests, as a user would: the needed libraries come from Maven Central. */
export async function buildStreamsJoin(): Promise<void> {
  const { code, output } = await runCommand(findMaven(), [
    '-B',
    '-q',
    '-f',
    join(PROJECT, 'pom.xml'),
    'package',
  ]);
  if (code !== 0) throw new Error(`examples/streams-join could not be built or tested:\n${output}`);
}

export interface StreamsOptions {
  /** `<prefix>.<tenant>`. */
  readonly topics: string;
  /** Instances of one id share the work; another id reads everything again. */
  readonly applicationId: string;
  /** Where its stores are. */
  readonly folder: string;
}

/** An instance of examples/streams-join. */
export class StreamsProcess implements AsyncDisposable {
  readonly #ended: Promise<number | null>;
  readonly #child;
  #output = '';
  #hasEnded = false;

  private constructor(java: string, { topics, applicationId, folder }: StreamsOptions) {
    const { kafkaBrokers, registryUrl } = inject('stack');
    mkdirSync(folder, { recursive: true });
    const settings = join(folder, 'settings.properties');
    // A killed instance is noticed after 6 s instead of 45 s, and its open transaction ends as soon.
    writeFileSync(
      settings,
      'session.timeout.ms=6000\nheartbeat.interval.ms=1000\nproducer.transaction.timeout.ms=6000\n',
    );
    this.#child = spawn(java, ['-Xmx256m', '-jar', join(PROJECT, 'target', 'streams-join.jar')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
        ROLLCALL_REGISTRY_URL: registryUrl,
        JOIN_TOPICS: topics,
        JOIN_APPLICATION_ID: applicationId,
        JOIN_STATE_DIR: join(folder, 'state'),
        JOIN_PARTITIONS: '2',
        JOIN_SETTINGS: settings,
      },
    });
    // An interrupted test run leaves no process behind.
    const killWithUs = (): void => void this.#child.kill('SIGKILL');
    process.once('exit', killWithUs);
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.#output = (this.#output + text).slice(-20_000);
      });
    }
    this.#ended = once(this.#child, 'close').then(([code]) => {
      this.#hasEnded = true;
      process.off('exit', killWithUs);
      return code as number | null;
    });
  }

  static async start(options: StreamsOptions): Promise<StreamsProcess> {
    return new StreamsProcess((await findJava()).path, options);
  }

  said(): string {
    return this.#output;
  }

  /** Throws when the process has ended. */
  expectAlive(): void {
    if (this.#hasEnded) throw new Error(`the join ended. It said:\n${this.#output}`);
  }

  /** Resolves with its exit code, null for a signal that ended it. */
  kill(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal);
    return this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill('SIGKILL');
  }
}
