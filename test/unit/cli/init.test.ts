import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { runProgram } from '../../../src/cli/program.ts';
import { VERBS } from '../../../src/cli/verbs.ts';
import { secretsInClear } from '../../../src/config/clear-text.ts';
import { SMALLEST_CONFIG } from '../../../src/config/problem.ts';
import { load, refusal } from '../config/config-text.ts';

const TEMPLATE = readFileSync(new URL('../../../src/cli/init/rollcall.yaml', import.meta.url), 'utf8');
const env = { HUB_ID: 'rollcall', HUB_SECRET: 'hub-secret', KAFKA_PASSWORD: 'broker-secret' };
const folder = mkdtempSync(join(tmpdir(), 'rollcall-init-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('init writes a configuration that is accepted as it is, and never overwrites a file', async () => {
  const path = join(folder, 'rollcall.yaml');
  let said = '';
  const stream = { write: (text: string) => void (said += text) };
  const host = { env: {}, exitCode: undefined, stdout: stream, stderr: stream, on: () => {}, off: () => {} };
  expect(await runProgram(['--config', path, 'init'], VERBS, host)).toBe(0);
  expect(load(readFileSync(path, 'utf8'), { env }).tenants[0]?.id).toBe('north');
  writeFileSync(path, 'mine');
  expect(await runProgram(['init', '--config', path], VERBS, host)).toBe(2);
  expect([readFileSync(path, 'utf8'), said]).toEqual(['mine', expect.stringContaining(`${path} exists`)]);
});

it('check --offline needs no variable and no service, and warns of what others could read', async () => {
  const path = join(folder, 'offline.yaml');
  let said = '';
  const stream = { write: (text: string) => void (said += text) };
  const host = { env: {}, exitCode: undefined, stdout: stream, stderr: stream, on: () => {}, off: () => {} };
  const check = () => runProgram(['check', '--offline', '--config', path], VERBS, host);
  writeFileSync(path, TEMPLATE.replace('${HUB_SECRET}', 'geheim').replace('https://hub', 'http://hub'));
  expect(await check()).toBe(0);
  expect(said).toMatch(/! +encryption +hub.baseUrl http:\/\/hub\S+: credentials or rows cross the network/);
  expect(said).toMatch(
    /needs +the environment variable HUB_ID\n.*clientSecret +the secret stands .* clear text/,
  );
  writeFileSync(path, TEMPLATE.replace('brokers', 'broker'));
  expect([await check(), said.includes('geheim')]).toEqual([2, false]);
  expect(said).toContain('did you mean brokers?');
});

it('the configuration of init shows no setting that would be refused without its #, and no secret', () => {
  const everything = TEMPLATE.replaceAll(/^(\s*)#(?=\S)/gm, '$1');
  expect(everything).toMatch(/^ {4}incrementalEvery: 60s$/m);
  expect(load(everything, { env }).kafka.ssl).toBe(true);
  expect(secretsInClear(parse(everything))).toEqual([]);
});

it('the configuration of init begins with the smallest one, which the refusal of an empty file shows', () => {
  expect(parse(TEMPLATE)).toEqual(parse(SMALLEST_CONFIG));
  const { remedy } = refusal(() => load('# nothing yet\n'));
  const shown = remedy.slice(remedy.indexOf('  tenants:')).replaceAll(/^ {2}/gm, '');
  expect(load(shown, { env }).redis?.url).toBe('redis://localhost:6379');
});
