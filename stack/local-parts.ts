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

/** Download sizes, including Maven's own plugin where it comes first. */
const downloadMB: Record<PartName, number> = { kafka: 70, registry: 142, redis: 12 };

export interface FetchOptions {
  say: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/** Where downloaded and unpacked parts are kept: outside the checkout, shared by all checkouts. */
export function cacheFolder(): string {
  const xdg = process.env['XDG_CACHE_HOME'];
  return join(xdg !== undefined && xdg !== '' ? xdg : join(homedir(), '.cache'), 'rollcall');
}

/**
 * Makes sure that the parts are unpacked in the cache: fetched by Maven, checked against `checksums.txt`, put in place by a rename.
 *
 * @returns the folder of each part: `kafka` and `redis` hold their files, `registry` what its archive holds.
 * @throws StackError when Maven fails, or a file is not what it should be.
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

  const onWait = (pid: number) => options.say(`waiting for process ${pid}, which is downloading the same`);
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

/** Removes files of an interrupted run; the caller holds the lock, so no process uses them. */
async function removeLeftovers(cache: string): Promise<void> {
  for (const name of await readdir(cache)) {
    if (name.startsWith('download-')) await rm(join(cache, name), { recursive: true, force: true });
  }
}

/** Has Maven copy the files of the parts into a folder. Also used to record new checksums. */
export async function download(
  parts: readonly PartName[],
  target: string,
  { say, signal }: FetchOptions,
): Promise<void> {
  const maven = findMaven();
  const started = Date.now();
  const progress = mavenProgress();
  const status = () =>
    `${Math.round(progress.bytes() / 1e6)} MB in ${Math.round((Date.now() - started) / 1000)} s`;
  const sizeMB = parts.reduce((sum, part) => sum + downloadMB[part], 0);
  say(`downloading ${parts.join(', ')} with Maven: about ${sizeMB} MB, once, kept in ${cacheFolder()}`);
  const ticker = setInterval(() => say(`downloading: ${status()}`), 5000);
  const args = [
    ['-f', join(folder, 'pom.xml')],
    ['-Dstyle.color=never', `-P${parts.join(',')}`],
    // Maven remembers a failed download, and would not try again for a day
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
  say(progress.bytes() > 0 ? `downloaded ${status()}` : 'all of it was in the local Maven repository');
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
        `${name} is not what stack/checksums.txt says: SHA-256 ${actual}, expected ${expected}. Nothing was installed. ` +
          'If a broken download is in the local Maven repository (~/.m2/repository), delete it there and run the same command again.',
      );
    }
    await rename(file, join(staged, name));
  }
  if (part === 'registry') await unpackRegistry(staged, files);
  if (part === 'redis') await unpackRedis(staged, files);
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
  const isServer = (name: string) => name.startsWith('redis-server-') && name.endsWith(system);
  for (const name of files.keys()) {
    const archive = await readFile(join(staged, name));
    await writeFile(join(staged, 'redis-server'), readZipMember(archive, isServer), { mode: 0o755 });
    await rm(join(staged, name));
  }
}
