import { expect, it } from 'vitest';
import { noteOutcomes } from '../../../src/cli/outcomes.ts';
import { withConfirming } from '../../../src/cli/pull.ts';
import { colorsFor, formatTable, type Output } from '../../../src/cli/output.ts';
import type { PullOutcome } from '../../../src/owner/pull.ts';
import { printing } from './support/printing.ts';

it.each([
  ['has colours on a terminal', { hasColors: () => true }, undefined, true],
  ['has no colours in a pipe', {}, undefined, false],
  ['has no colours with NO_COLOR', { hasColors: () => false }, undefined, false],
  ['has no colours with --no-color', { hasColors: () => true }, false, false],
])('the output of the program %s', (_, stream, color, expected) => {
  const { isColorSupported } = colorsFor({ write: () => {}, ...stream }, {}, color);
  expect(isColorSupported).toBe(expected);
});

it.each([
  [true, '{"a":1}\n'],
  [false, 'for people\nA\n1\n'],
])('stdout has only JSON with --json, and no JSON without --json (%s)', (json, stdout) => {
  const { output, said } = printing({ json });
  output.line('for people');
  output.table(['A'], [['1']]);
  output.data({ a: 1 });
  output.note('remark');
  expect(said).toEqual({ stdout, stderr: 'remark\n' });
});

it('tables align a column of numbers right, and colours in a cell do not shift the next columns', () => {
  const rows = [
    ['\u001B[32musers\u001B[39m', '7', 'x'],
    ['classes', '1200', ''],
  ];
  const lines = ['name     rows', '\u001B[32musers\u001B[39m       7  x', 'classes  1200'];
  expect(formatTable(['name', 'rows', ''], rows)).toEqual(lines);
});

/** What a terminal of 30 columns shows. */
function onTerminal(show: (output: Output) => void): string[] {
  const { output, said } = printing({ stream: { isTTY: true, columns: 30 } });
  show(output);
  return said.stdout.trimEnd().split('\n');
}

it('a table leaves out as many of its least important columns as a narrow terminal asks for, and no more', () => {
  const titles = ['collection', 'rows now', 'rows then', 'up to'];
  const rows = [['users', '7', '7', '1 d ago']];
  expect(onTerminal((output) => output.table(titles, rows, ['rows then', 'rows now']))).toEqual([
    'collection  rows now  up to',
    'users              7  1 d ago',
  ]);
  expect(onTerminal((output) => output.table(titles, rows))[0]).toMatch(/rows then +up to/);
});

it('a long text is broken between words at the width of the terminal, and not in a pipe', () => {
  const text = 'Check hub.baseUrl and the credentials, then wait for a minute.';
  const lines = ['→ Check hub.baseUrl and the', '    credentials, then wait for', '    a minute.'];
  expect(onTerminal((output) => output.item('→', text))).toEqual(lines);
  const { output, said } = printing();
  output.item('→', text);
  expect(said.stdout).toBe(`→ ${text}\n`);
});

it('a table can have more rows than a function call can have arguments', () => {
  const rows = Array.from({ length: 200_000 }, () => ['x']);
  expect(formatTable(['key'], rows)).toHaveLength(200_001);
});

it('a command that takes long prints its progress at most every two seconds', () => {
  const { output, said, clock } = printing();
  for (; clock.nowMs <= 4_000; clock.nowMs += 500) output.progress(`at ${clock.nowMs}`);
  expect(said.stderr).toBe('at 0\nat 2000\nat 4000\n');
});

const FAILED = { outcome: 'failed', why: 'HTTP 500', remedy: 'Look.' } as const;
it.each<[what: string, said: string, outcomes: Partial<PullOutcome>[]]>([
  [
    'one cause once, with its remedy, and with every collection that has it and no other',
    '✗ users, classes: HTTP 500\n→ Look.\n',
    [FAILED, { collection: 'orgs' }, { collection: 'classes', ...FAILED }],
  ],
  [
    'how many rows are new in rejects',
    '! users: some rows cannot be read; new in rejects: 1,203\n',
    [{ rejected: 1203 }, { collection: 'orgs' }],
  ],
  [
    'that rows without an id keep all removals of their collection back',
    '! users: some rows cannot be read; new in rejects: 1\n! users: removals wait, because rows without a readable sourcedId may be the ones that are missing\n→ Ask the people who run the hub to correct these rows.\n',
    [{ nameless: 1, rejected: 1 }, { collection: 'orgs' }],
  ],
])('pull reports %s', (_, said, outcomes) => {
  const printed = printing();
  const fine = {
    collection: 'users',
    outcome: 'complete',
    rejected: 0,
    nameless: 0,
    why: null,
    remedy: null,
  };
  noteOutcomes(
    printed.output,
    outcomes.map((each) => ({ ...fine, ...each }) as PullOutcome),
  );
  expect(printed.said.stderr).toBe(said);
});

it('a full sync that proved nothing stays inconclusive after a confirming sync of some of its scopes', () => {
  const counts = { created: 0, updated: 0, removed: 0, derived: { absences: 0, changes: 1 } };
  const doubt = { outcome: 'inconclusive', why: 'a response had no list' } as const;
  const first = { ...counts, ...doubt, mode: 'FULL' } as PullOutcome;
  const last = { ...counts, outcome: 'complete', why: null, mode: 'INCREMENTAL', removed: 1 } as PullOutcome;
  const derived = { absences: 0, changes: 2 };
  expect(withConfirming(first, last)).toMatchObject({ ...doubt, removed: 1, derived });
  expect(withConfirming(first, { ...last, mode: 'FULL' })).toMatchObject({ outcome: 'complete', removed: 1 });
});
