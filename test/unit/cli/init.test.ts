import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SMALLEST_CONFIG } from '../../../src/config/problem.ts';
import { load, refusal } from '../config/config-text.ts';

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));
const TEMPLATE = readFileSync(new URL('../../../src/cli/init/rollcall.yaml', import.meta.url), 'utf8');
const CREDENTIALS = { HUB_ID: 'rollcall', HUB_SECRET: 'hub-secret' };
const folder = mkdtempSync(join(tmpdir(), 'rollcall-init-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('rollcall init', () => {
  it('writes a configuration that is accepted as it is', () => {
    const path = join(folder, 'new.yaml');
    execFileSync(process.execPath, [MAIN, '--config', path, 'init']);
    expect(load(readFileSync(path, 'utf8'), { env: CREDENTIALS }).tenants[0]?.id).toBe('north');
  });

  it('shows no setting that would be refused without its #', () => {
    const everything = TEMPLATE.replaceAll(/^(\s*)#(?=\S)/gm, '$1');
    expect(everything).toMatch(/^ {4}deltaEvery: 60s$/m);
    expect(load(everything, { env: CREDENTIALS }).kafka.ssl).toBe(true);
  });

  it('never overwrites a file', () => {
    const path = join(folder, 'mine.yaml');
    writeFileSync(path, 'mine');
    const { status, stderr } = spawnSync(process.execPath, [MAIN, 'init', '--config', path], {
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([2, expect.stringContaining(`${path} exists`)]);
    expect(readFileSync(path, 'utf8')).toBe('mine');
  });

  it('begins with the smallest configuration, which the refusal of an empty file shows', () => {
    expect(parse(TEMPLATE)).toEqual(parse(SMALLEST_CONFIG));
    const { remedy } = refusal(() => load('# nothing yet\n'));
    const shown = remedy.slice(remedy.indexOf('  tenants:')).replaceAll(/^ {2}/gm, '');
    expect(load(shown, { env: CREDENTIALS }).redis?.url).toBe('redis://localhost:6379');
  });
});
