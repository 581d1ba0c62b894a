import { describe, expect, it } from 'vitest';
import { createOutput, formatTable, wantsColors } from '../../../src/cli/output.ts';

function stream(options: { isTTY?: boolean } = {}) {
  let text = '';
  return {
    ...options,
    write(part: string) {
      text += part;
    },
    text: () => text,
  };
}

describe('colours', () => {
  const terminal = stream({ isTTY: true });
  it.each([
    ['a terminal', terminal, {}, undefined, true],
    ['a pipe', stream(), {}, undefined, false],
    ['NO_COLOR', terminal, { NO_COLOR: '1' }, undefined, false],
    ['NO_COLOR empty, which does not count', terminal, { NO_COLOR: '' }, undefined, true],
    ['a dumb terminal', terminal, { TERM: 'dumb' }, undefined, false],
    ['--no-color', terminal, {}, false, false],
  ])('follow the stream, the environment and the option: %s', (_name, where, env, color, expected) => {
    expect(wantsColors(where, env, color)).toBe(expected);
  });
});

describe('output', () => {
  const outputWith = (json: boolean) => {
    const stdout = stream();
    const stderr = stream();
    const output = createOutput({ host: { stdout, stderr, env: {} }, json, nowMs: () => 0 });
    output.line('for people');
    output.table(['A'], [['1']]);
    output.data({ a: 1 });
    output.note('remark');
    return { stdout: stdout.text(), stderr: stderr.text() };
  };

  it('with --json stdout has only JSON', () => {
    expect(outputWith(true)).toEqual({ stdout: '{"a":1}\n', stderr: 'remark\n' });
  });

  it('without --json stdout has no JSON', () => {
    expect(outputWith(false)).toEqual({ stdout: 'for people\nA\n1\n', stderr: 'remark\n' });
  });
});

describe('tables', () => {
  it('align a column of numbers right, and colours in a cell do not shift the next columns', () => {
    const lines = formatTable(
      ['name', 'rows', ''],
      [
        ['\u001B[32musers\u001B[39m', '7', 'x'],
        ['classes', '1200', ''],
      ],
    );
    expect(lines).toEqual(['name     rows', '\u001B[32musers\u001B[39m       7  x', 'classes  1200']);
  });
});

it('progress is a line every few seconds', () => {
  const stderr = stream({ isTTY: true });
  const clock = { nowMs: 0 };
  const streams = { stdout: stream(), stderr };
  const output = createOutput({ host: { ...streams, env: {} }, json: false, nowMs: () => clock.nowMs });
  for (; clock.nowMs <= 4_000; clock.nowMs += 500) output.progress(`at ${clock.nowMs}`);
  expect(stderr.text()).toBe('at 0\nat 2000\nat 4000\n');
});
