import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { spawnProgram, type Ended } from './support/rollcall.ts';
import { startTestTenant, type TestTenant } from './support/test-tenant.ts';

const CHECKOUT = join(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'rollcall-package-'));
const home = join(folder, 'home');
const config = join(folder, 'rollcall.yaml');
const PATH = [dirname(process.execPath), process.env['PATH']].join(':');

let tarball: string;
let tenant: TestTenant;
beforeAll(async () => {
  tenant = await startTestTenant();
  mkdirSync(home);
  const [packed] = JSON.parse(npm('pack', '--json', '--pack-destination', folder)) as { filename: string }[];
  tarball = join(folder, packed?.filename ?? '');
  npm('install', '--global', '--prefix', home, tarball);
}, 180_000);
afterAll(async () => {
  await tenant[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

function npm(...args: string[]): string {
  // with the settings of npm and of its network in the environment
  const env = { ...process.env, PATH, HOME: home };
  return execFileSync('npm', args, { cwd: CHECKOUT, env, encoding: 'utf8', stdio: 'pipe', timeout: 120_000 });
}

const start = (...args: string[]) =>
  spawnProgram([join(home, 'bin/rollcall'), '--config', config, ...args], {
    PATH,
    HOME: home,
    HUB_ID: tenant.hub.clientId,
    HUB_SECRET: tenant.hub.clientSecret,
  });
const rollcall = (...args: string[]): Promise<Ended> => start(...args).ended;

describe('the npm package', () => {
  it('holds what runs, built, and nothing for development', () => {
    const files = execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' }).trim().split('\n');
    const wanted =
      'dist/main.js dist/main.js.map dist/telemetry/page/index.html avro/users.avsc docs/runbooks.md';
    expect(files).toEqual(expect.arrayContaining(wanted.split(' ').map((file) => `package/${file}`)));
    expect(
      files.filter((file) => /\.ts$|^package\/(src|test|scripts|reference-hub|helm)\//.test(file)),
    ).toEqual([]);
  });

  it('installed with an empty home, goes all the way: init, check, run, status', async () => {
    expect(await rollcall('init')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('then: rollcall check'),
    });
    writeFileSync(config, addressed(readFileSync(config, 'utf8')));
    expect(await rollcall('check')).toMatchObject({ code: 0 });
    const running = start('run');
    await running.says('"msg":"a sync ended"');
    expect(await rollcall('status')).toMatchObject({ stdout: expect.stringContaining('north') });
    expect(await running.stop()).toMatchObject({ code: 0 });
  });

  it('prints commands as they work where it is installed, and what to do about an error', async () => {
    const { code, stderr } = await rollcall('tail', 'nothing');
    expect(code).toBe(2);
    const help = /see rollcall (help \w+)/.exec(stderr)?.[1] ?? '';
    expect(await rollcall(...help.split(' '))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^### USAGE_INVALID/),
    });
  });

  it('runs by npx without an installation', () => {
    expect(npm('exec', '--yes', '--package', tarball, '--', 'rollcall', '--version')).toMatch(/^rollcall \d/);
  });
});

/** The configuration that `init` wrote, with the addresses of the tests. */
function addressed(text: string): string {
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  return text
    .replace('https://hub.example/north', tenant.hub.baseUrl)
    .replace('https://id.example/token', tenant.hub.tokenUrl)
    .replace("'localhost:9092'", kafkaBrokers.map((broker) => `'${broker}'`).join(', '))
    .replace('#topicPrefix: rollcall', `topicPrefix: ${tenant.topicPrefix}`)
    .replace('#replicationFactor: 3', 'replicationFactor: 1')
    .replace('http://localhost:8081', registryUrl)
    .replace('redis://localhost:6379', redisUrl)
    .replace('#http: { host: 127.0.0.1, port: 8080 }', 'http: { port: 0 }');
}
