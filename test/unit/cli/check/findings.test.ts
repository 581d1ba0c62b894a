import { expect, it } from 'vitest';
import { failureOf } from '../../../../src/cli/check/finding.ts';

it('a finding about an unknown error quotes no data', () => {
  const { text } = failureOf('token', new SyntaxError('Unexpected token in {"name":"Oppdikta"}'));
  expect(text).not.toContain('Oppdikta');
});
