import { expect, it } from 'vitest';
import { exitCode, exitCodeOf } from '../../../src/cli/exit-code.ts';
import { RollcallError } from '../../../src/errors.ts';

const codeOf = (code: 'USAGE_INVALID' | 'CONFIG_INVALID' | 'HUB_FORBIDDEN'): number =>
  exitCodeOf(new RollcallError(code, 'wrong', { remedy: 'Correct it.' }));

it.each([
  ['0 for success', exitCode({}), 0],
  ['3 if something needs a decision', exitCode({ needsPerson: true }), 3],
  [
    '1 for a failure, even if something needs a decision',
    exitCode({ hasFailed: true, needsPerson: true }),
    1,
  ],
  ['2 for wrong use', codeOf('USAGE_INVALID'), 2],
  ['2 for a wrong configuration', codeOf('CONFIG_INVALID'), 2],
  ['1 for every other error', codeOf('HUB_FORBIDDEN'), 1],
  ['1 for an unforeseen error', exitCodeOf(new TypeError('unforeseen')), 1],
])('the exit code is %s', (_, code, expected) => {
  expect(code).toBe(expected);
});
