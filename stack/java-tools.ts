import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { StackError } from './errors.ts';
import { runCommand } from './run-command.ts';

const usualJavaMajor = 17;
/** Where Debian, Ubuntu and GitHub's runners install each version of Java. */
const installedJavas = '/usr/lib/jvm/*/bin/java';

const remedies = `Either
  - install Java ${usualJavaMajor} or later and Maven (Debian: apt-get install openjdk-17-jdk-headless maven): then Kafka, the registry and Redis run as local processes; or
  - start a Docker engine: then they run in containers; or
  - set the addresses of running services: ROLLCALL_KAFKA_BROKERS, ROLLCALL_REGISTRY_URL, ROLLCALL_REDIS_URL.`;

export interface Java {
  /** The binary. */
  path: string;
  /** The output of `java -version`, which identifies the exact build. */
  version: string;
}

/**
 * Finds Java in `JAVA_HOME`, else in the PATH, else below `/usr/lib/jvm`: the first that is new enough.
 *
 * @throws StackError with all remedies when there is none, or when it is too old.
 */
export async function findJava(requiredMajor = usualJavaMajor): Promise<Java> {
  const home = process.env['JAVA_HOME'];
  const ofHome = home === undefined ? [] : [join(home, 'bin', 'java')].filter((path) => existsSync(path));
  let tooOld: string | undefined;
  for (const path of [...ofHome, 'java', ...globSync(installedJavas)]) {
    const { code, output } = await runCommand(path, ['-version']);
    if (code === 0 && (javaMajor(output) ?? 0) >= requiredMajor) return { path, version: output };
    if (code === 0) tooOld ??= output.split('\n')[0];
  }
  if (tooOld === undefined)
    throw new StackError(`neither a usable Docker engine nor Java was found. ${remedies}`);
  throw new StackError(
    `no usable Docker engine was found, and Java is too old: ${tooOld}, but ${requiredMajor} is needed. ${remedies}`,
  );
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
