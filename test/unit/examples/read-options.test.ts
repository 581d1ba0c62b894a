import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

it.each([
  ['absent-now/absent-now.ts', ['--topics', '--at', '--old-after', '--once', '--json']],
  ['postgres-sink/run/main.ts', ['--for', '--postgres', '--students', '--changes-per-minute']],
  ['../demo/main.ts', ['--for', '--students', '--seed', '--changes-per-minute', '--brokers']],
  ['react-once/react-once.ts', ['--topics', '--db', '--group', '--too-late-after']],
])('the program %s shows all options with --help, to which errors point', (program, options) => {
  const file = fileURLToPath(new URL(`../../../examples/${program}`, import.meta.url));
  const start = (option: string) => spawnSync(process.execPath, [file, option], { encoding: 'utf8' });
  const help = start('--help');
  expect([help.status, options.filter((option) => !help.stdout.includes(` ${option}`))]).toEqual([0, []]);
  const wrong = start('--nonsense');
  expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringMatching(/'--nonsense'[^]*--help/)]);
  expect(wrong.stderr).not.toContain('    at ');
});
