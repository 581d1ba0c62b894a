import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { spawnProgram, type Ended } from '../support/running.ts';
import { startTestTenant } from './support/test-tenant.ts';

it('the npm package has all files that run, and works from "rollcall init" to a running mirror', async () => {
  using folder = Object.assign(new DisposableStack(), {
    path: mkdtempSync(join(tmpdir(), 'rollcall-package-')),
  });
  folder.defer(() => rmSync(folder.path, { recursive: true }));
  const home = join(folder.path, 'home');
  mkdirSync(home);
  const PATH = [dirname(process.execPath), process.env['PATH']].join(':');
  const npm = (...args: string[]): string =>
    execFileSync('npm', args, {
      cwd: join(import.meta.dirname, '../../..'),
      // with the settings of npm and of its network in the environment
      env: { npm_config_cache: join(homedir(), '.npm'), ...process.env, PATH, HOME: home },
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 180_000,
    });
  const [packed] = JSON.parse(npm('pack', '--json', '--pack-destination', folder.path)) as {
    filename: string;
    files: { path: string }[];
  }[];
  const files = packed?.files.map(({ path }) => path) ?? [];
  const wanted =
    'dist/main.js dist/main.js.map dist/LICENSES.txt dist/telemetry/page/index.html avro/users.avsc docs/runbooks.md';
  expect(files).toEqual(expect.arrayContaining(wanted.split(' ')));
  expect(files.filter((file) => /\.ts$|^(src|test|scripts|reference-hub|helm)\//.test(file))).toEqual([]);
  const quick = ['--prefer-offline', '--no-audit', '--no-fund'];
  npm('install', '--global', ...quick, '--prefix', home, join(folder.path, packed?.filename ?? ''));

  await using tenant = await startTestTenant();
  const { hub, topicPrefix } = tenant;
  const config = join(folder.path, 'rollcall.yaml');
  const secrets = { HUB_ID: hub.clientId, HUB_SECRET: hub.clientSecret };
  const env = { PATH, HOME: home, ROLLCALL_DEBUG: '1', ...secrets };
  const start = (words: string) =>
    spawnProgram([join(home, 'bin/rollcall'), '--config', config, ...words.split(' ')], env);
  const rollcall = (words: string): Promise<Ended> => start(words).ended;
  const { code, stdout } = await rollcall('init');
  expect([code, stdout]).toEqual([0, expect.stringContaining(`  rollcall --config ${config} check`)]);
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  const addressed = readFileSync(config, 'utf8')
    .replace('https://hub.example/north', hub.baseUrl)
    .replace('https://id.example/token', hub.tokenUrl)
    .replace("'localhost:9092'", kafkaBrokers.map((broker) => `'${broker}'`).join(', '))
    .replace('#topicPrefix: rollcall', `topicPrefix: ${topicPrefix}`)
    .replace('http://localhost:8081', registryUrl)
    .replace('redis://localhost:6379', redisUrl)
    .replace('#http: { host: 127.0.0.1, port: 8080 }', 'http: { port: 0 }');
  writeFileSync(config, addressed);
  expect(await rollcall('check')).toMatchObject({ code: 0 });
  const running = start('run');
  await running.says('"msg":"a sync ended"');
  expect(await rollcall('status')).toMatchObject({ stdout: expect.stringContaining('north') });
  expect(await running.stop()).toMatchObject({ code: 0 });
  // It prints commands as they work where it is installed.
  const wrong = await rollcall('tail nothing');
  // It names the files that were bundled.
  expect(wrong.stderr).toMatch(/ at chooseFrom \(\S+\/cli\/choose\.ts:\d+:\d+\)/);
  const help = /see rollcall (help \w+)/.exec(wrong.stderr)?.[1] ?? '';
  const explained = expect.stringMatching(/^USAGE_INVALID\n-+\n/) as string;
  expect([wrong.code, await rollcall(help)]).toMatchObject([2, { code: 0, stdout: explained }]);
});
