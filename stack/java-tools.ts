import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { StackError } from './errors.ts';
import { runCommand } from './run-command.ts';

const requiredJavaMajor = 17;

const remedies = `Either
  - install Java ${requiredJavaMajor} or later and Maven (Debian: apt-get install openjdk-17-jdk-headless maven): then Kafka, the registry and Redis run as local processes; or
  - start a Docker engine: then they run in containers; or
  - set the addresses of running services: ROLLCALL_KAFKA_BROKERS, ROLLCALL_REGISTRY_URL, ROLLCALL_REDIS_URL.`;

export interface Java {
  /** The binary. */
  path: string;
  /** The output of `java -version`, which identifies the exact build. */
  version: string;
}

/**
 * Finds Java in `JAVA_HOME`, else in the PATH.
 *
 * @throws StackError with all remedies when there is none, or when it is too old.
 */
export async function findJava(): Promise<Java> {
  const home = process.env['JAVA_HOME'];
  const path =
    home !== undefined && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java';
  const { code, output } = await runCommand(path, ['-version']);
  if (code !== 0) throw new StackError(`neither a usable Docker engine nor Java was found. ${remedies}`);
  const major = javaMajor(output);
  if (major === undefined || major < requiredJavaMajor) {
    throw new StackError(
      `no usable Docker engine was found, and Java is too old (${output.split('\n')[0]}). ${remedies}`,
    );
  }
  return { path, version: output };
}

/** The major version out of what `java -version` prints (JEP 223; `1.8` for Java 8). */
export function javaMajor(versionText: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(versionText);
  return match === null ? undefined : Number(match[1]);
}

/** Finds Maven in the PATH. Throws StackError with all remedies when there is none. */
export function findMaven(): string {
  const found = findInPath('mvn');
  if (found === undefined)
    throw new StackError(`neither a usable Docker engine nor Maven (mvn) was found. ${remedies}`);
  return found;
}

/** Returns the first file with that name in the folders of the PATH. */
export function findInPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}
