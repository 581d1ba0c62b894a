import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runProgram } from '../../../src/cli/program.ts';
import { VERBS } from '../../../src/cli/verbs.ts';
import { secretsInClear } from '../../../src/config/clear-text.ts';
import { load, yamlWith } from '../config/config-text.ts';

const TEMPLATE = readFileSync(new URL('../../../src/cli/init/rollcall.yaml', import.meta.url), 'utf8');
const env = { HUB_ID: 'rollcall', HUB_SECRET: 'hub-secret', KAFKA_PASSWORD: 'broker-secret' };
const folder = mkdtempSync(join(tmpdir(), 'rollcall-init-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs a command line in this process. `said`: all that it has printed. */
async function run(...words: string[]) {
  let said = '';
  const stream = { write: (text: string) => void (said += text) };
  const host = { env: {}, exitCode: undefined, stdout: stream, stderr: stream, on: () => {}, off: () => {} };
  return { code: await runProgram(words, VERBS, host), said };
}

it('init writes a configuration that is accepted as it is, and never overwrites a file', async () => {
  const path = join(folder, 'rollcall.yaml');
  expect((await run('--config', path, 'init')).code).toBe(0);
  expect(load(readFileSync(path, 'utf8'), { env }).tenants[0]?.id).toBe('north');
  writeFileSync(path, 'mine');
  const again = await run('init', '--config', path);
  expect(again).toEqual({ code: 2, said: expect.stringContaining(`${path} exists`) });
  expect(readFileSync(path, 'utf8')).toBe('mine');
});

it('check --offline needs no variable and no service, and warns of secrets and rows in clear text', async () => {
  const path = join(folder, 'offline.yaml');
  const check = (...words: string[]) => run('check', '--offline', '--config', path, ...words);
  writeFileSync(path, TEMPLATE.replace('${HUB_SECRET}', 'geheim').replace('https://hub', 'http://hub'));
  const { code, said } = await check();
  expect([code, (await check('--strict')).code]).toEqual([0, 1]);
  for (const finding of [
    /- +needs +the environment variable HUB_ID$/m,
    /! +encryption +hub.baseUrl http:\/\/hub\S+: credentials or rows cross the network/,
    /! +tenants\[0\]\.hub\.clientSecret +the secret is in the file in clear text$/m,
  ])
    expect(said).toMatch(finding);
  writeFileSync(path, TEMPLATE.replace('brokers', 'broker'));
  const refused = await check();
  expect(refused).toEqual({ code: 2, said: expect.stringContaining('did you mean brokers?') });
  expect(said + refused.said).not.toContain('geheim');
});

const saslOf = (mechanism: string): string => `sasl: { mechanism: ${mechanism}, username: u, password: p }`;

it.each([
  ['plain', saslOf('plain'), 'the KafkaUser only grants rights'],
  ['no mechanism', '', 'the KafkaUser only grants rights'],
  ['scram-sha-512', saslOf('scram-sha-512'), ''],
])('topics list --as strimzi warns if its KafkaUser cannot log in: %s', async (_, kafka, warning) => {
  const path = join(folder, 'strimzi.yaml');
  writeFileSync(path, yamlWith({ kafka }));
  const { code, said } = await run('topics', 'list', '--as', 'strimzi', '--config', path);
  expect([code, /the KafkaUser only grants rights/.exec(said)?.[0] ?? '']).toEqual([0, warning]);
});

it('tail --about refuses a second id, which would silently replace the first one', async () => {
  const { code, said } = await run('tail', '--about', '42', '--about', '43');
  expect([code, said]).toEqual([2, expect.stringContaining('Only one id can be searched for at a time')]);
});

it('each setting that init writes as a comment is accepted without its #, and none is a secret', () => {
  const everything = TEMPLATE.replaceAll(/^(\s*)#(?=\S)/gm, '$1');
  expect(everything).toMatch(/^ {4}incrementalEvery: 60s$/m);
  expect(load(everything, { env }).kafka.ssl).toBe(true);
  expect(secretsInClear(everything)).toEqual([]);
});
