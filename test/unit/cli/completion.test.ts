import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { yamlWith } from '../config/config-text.ts';

const PROGRAM = fileURLToPath(new URL('../../../bin/rollcall.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'rollcall-completion-'));
writeFileSync(join(folder, 'rollcall.yaml'), yamlWith());
afterAll(() => rmSync(folder, { recursive: true }));

function rollcall(...args: readonly string[]): string {
  return spawnSync(process.execPath, [PROGRAM, ...args], { cwd: folder, encoding: 'utf8' }).stdout;
}

/** The values offered for the last word. */
function offered(...words: readonly string[]): string[] {
  return rollcall('complete', '--', ...words)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .map((line) => line.split('\t')[0] ?? '');
}

describe('completion', () => {
  it.each([
    [['sta'], ['status', 'state']],
    [['state', 'r'], ['rebuild']],
    [['status', '--te'], ['--tenant']],
    [
      ['pull', '--collection', 'cl'],
      ['classes', 'class-students'],
    ],
    [['tail', 'or'], ['orgs']],
    [['run', '--log-level', 'd'], ['debug']],
    // The credentials of the hub are variables that are not set here.
    [['status', '--tenant', ''], ['north']],
  ])('offers for %j what fits', (words, expected) => {
    expect(offered(...words)).toEqual(expected);
  });

  it('is no verb that people see', () => {
    expect(rollcall('--help')).not.toMatch(/^ {2}complete /m);
    expect(offered('compl')).toEqual(['completion']);
  });

  it.each([[['']], [['deletes', '']], [['topics', '']]])(
    'describes each verb in one line for %j',
    (words) => {
      const lines = rollcall('complete', '--', ...words)
        .split('\n')
        .filter((line) => /^[a-z].*\t/.test(line));
      expect(lines.length).toBeGreaterThan(2);
      expect(lines.filter((line) => line.length > 120)).toEqual([]);
    },
  );

  it.each(['zsh', 'fish'])('has a script for %s that asks this program', (shell) => {
    expect(rollcall('completion', shell)).toContain(`'${PROGRAM}' complete --`);
  });

  it('completes in a real bash', () => {
    // Sets what the package bash-completion finds out about the line.
    const compopt = 'compopt() { :; }';
    const line = '_get_comp_words_by_ref() { words=(rollcall pull --coll); cur=--coll; cword=2; }';
    const ask = '__rollcall_complete; echo "${COMPREPLY[@]}"';
    const script = [line, compopt, rollcall('completion', 'bash'), ask].join('\n');
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' });
    expect([stdout, stderr]).toEqual(['--collection\n', '']);
  });
});
