import { describe, expect, it } from 'vitest';
import { exitCode, exitCodeOf } from '../../../src/cli/exit-code.ts';
import { RollcallError } from '../../../src/errors.ts';

describe('the exit code', () => {
  it('is 0 for success, and 3 if something needs a decision', () => {
    expect(exitCode({})).toBe(0);
    expect(exitCode({ needsPerson: true })).toBe(3);
  });

  it('is 1 for a failure, even if something needs a decision', () => {
    expect(exitCode({ hasFailed: true, needsPerson: true })).toBe(1);
  });

  it('is 2 for wrong use or configuration, and 1 for every other error', () => {
    const remedy = 'Correct it.';
    expect(exitCodeOf(new RollcallError('USAGE_INVALID', 'wrong use', { remedy }))).toBe(2);
    expect(exitCodeOf(new RollcallError('CONFIG_INVALID', 'wrong configuration', { remedy }))).toBe(2);
    expect(exitCodeOf(new RollcallError('HUB_FORBIDDEN', 'no access', { remedy }))).toBe(1);
    expect(exitCodeOf(new TypeError('unforeseen'))).toBe(1);
  });
});
