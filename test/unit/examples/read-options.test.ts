import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PROGRAMS = [
  { program: 'absent-now.ts', options: ['--topics', '--at', '--old-after', '--once', '--json'] },
  { program: 'react-once/react-once.ts', options: ['--topics', '--db', '--group', '--too-late-after'] },
];

function start(program: string, ...args: string[]) {
  const file = fileURLToPath(new URL(`../../../examples/${program}`, import.meta.url));
  return spawnSync(process.execPath, [file, ...args], { encoding: 'utf8' });
}

describe.each(PROGRAMS)('the example $program', ({ program, options }) => {
  it('shows all its options with --help', () => {
    const { stdout, status } = start(program, '--help');
    expect(status).toBe(0);
    expect(options.filter((option) => !stdout.includes(` ${option}`))).toEqual([]);
  });

  it('names a wrong option, points to --help, and ends with 2', () => {
    const { stderr, status } = start(program, '--nonsense');
    expect(status).toBe(2);
    expect(stderr).toContain("'--nonsense'");
    expect(stderr).toContain('--help');
    expect(stderr).not.toContain('    at ');
  });
});
