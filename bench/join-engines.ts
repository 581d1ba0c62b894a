import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findJava, findMaven } from '../stack/java-tools.ts';
import { runCommand } from '../stack/run-command.ts';
import type { Stack } from '../stack/start-stack.ts';

const EXAMPLES = join(import.meta.dirname, '..', 'examples');

export type Engine = 'streams' | 'flink';

export interface EnginePlace {
  readonly stack: Stack;
  /** `<prefix>.<tenant>`. */
  readonly topics: string;
  /** For state; a new one. */
  readonly folder: string;
  /** Of Kafka Streams. */
  readonly partitions: number;
}

/** Builds the engine's example; the libraries come from Maven Central. */
export async function buildEngine(engine: Engine): Promise<void> {
  const pom = join(EXAMPLES, `${engine}-join`, 'pom.xml');
  const { code, output } = await runCommand(findMaven(), ['-B', '-q', '-f', pom, 'package', '-DskipTests']);
  if (code !== 0) throw new Error(`examples/${engine}-join could not be built:\n${output}`);
}

/** Starts one instance; `running` resolves when it works, or has ended. Flink keeps its state in the heap. */
export async function startEngine(
  engine: Engine,
  { stack, topics, folder, partitions }: EnginePlace,
): Promise<{ child: ChildProcess; running: Promise<unknown> }> {
  const { path } = await findJava();
  const [brokers, registry] = [stack.kafkaBrokers.join(','), stack.registryUrl];
  const jar = join(EXAMPLES, `${engine}-join`, 'target', `${engine}-join.jar`);
  const args = engine === 'flink' ? [join(EXAMPLES, 'flink-join', 'absence-lessons.sql')] : [];
  const settings: Record<Engine, Record<string, string>> = {
    streams: {
      ROLLCALL_KAFKA_BROKERS: brokers,
      ROLLCALL_REGISTRY_URL: registry,
      JOIN_TOPICS: topics,
      JOIN_PARTITIONS: String(partitions),
      JOIN_STATE_DIR: folder,
    },
    flink: {
      BROKERS: brokers,
      REGISTRY: registry,
      TOPICS: topics,
      OUTPUT: `${topics}.absence-lessons`,
      CHECKPOINTS: pathToFileURL(folder).href,
    },
  };
  const heap = engine === 'flink' ? '-Xmx2g' : '-Xmx512m';
  const child = spawn(path, [heap, '-jar', jar, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...settings[engine] },
  });
  const running = Promise.withResolvers<void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (/^running/im.test(text)) running.resolve();
  });
  return { child, running: Promise.race([running.promise, once(child, 'close')]) };
}
