import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { StackError } from './errors.ts';
import { runCommand } from './run-command.ts';

const requiredJavaMajor = 17;

const waysOut = `Either
  - install Java ${requiredJavaMajor} or later and Maven (Debian: apt-get install openjdk-17-jdk-headless maven), and Kafka, the registry and Redis run as local processes; or
  - start a Docker engine, and they run in containers; or
  - give the addresses of running ones: ROLLCALL_KAFKA_BROKERS, ROLLCALL_REGISTRY_URL, ROLLCALL_REDIS_URL.`;

export interface Java {
  /** The binary. */
  path: string;
  /** The output of `java -version`, which identifies the exact build. */
  version: string;
}

/**
 * Finds Java: `JAVA_HOME`, else the PATH.
 *
 * @throws StackError when there is none, or it is too old; names every way out.
 */
export async function findJava(): Promise<Java> {
  const home = process.env['JAVA_HOME'];
  const path =
    home !== undefined && existsSync(join(home, 'bin', 'java')) ? join(home, 'bin', 'java') : 'java';
  const { code, output } = await runCommand(path, ['-version']);
  if (code !== 0)
    throw new StackError(`neither a Docker engine that can be used was found, nor Java. ${waysOut}`);
  const major = javaMajor(output);
  if (major === undefined || major < requiredJavaMajor) {
    throw new StackError(
      `no Docker engine that can be used was found, and Java is too old (${output.split('\n')[0]}). ${waysOut}`,
    );
  }
  return { path, version: output };
}

/** The major version out of what `java -version` prints (JEP 223; `1.8` for Java 8). */
export function javaMajor(versionText: string): number | undefined {
  const match = /version "(?:1\.)?(\d+)/.exec(versionText);
  return match === null ? undefined : Number(match[1]);
}

/** Finds Maven in the PATH; throws StackError naming every way out when there is none. */
export function findMaven(): string {
  const found = findInPath('mvn');
  if (found === undefined)
    throw new StackError(`neither a Docker engine that can be used was found, nor Maven (mvn). ${waysOut}`);
  return found;
}

/** The first file of that name in the folders of the PATH. */
export function findInPath(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
}
