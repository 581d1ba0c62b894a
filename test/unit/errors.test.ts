import { expect, it } from 'vitest';
import { describeError } from '../../src/errors.ts';
import { splitCompositeKey } from '../../src/model/keys.ts';

it('an unforeseen error is described by its class, function and file, without its message', async () => {
  const unforeseen = await Promise.resolve(17 as unknown as string)
    .then(splitCompositeKey)
    .catch((error: unknown) => error);
  const place = 'splitCompositeKey, src/model/keys.ts';
  expect(describeError(unforeseen)).toBe(`an unexpected error occurred: TypeError in ${place}`);
  const src = import.meta.dirname.replace(/test.unit$/, 'src');
  const quoting = new SyntaxError(
    `x\n    at anna (${src}/anna.ts:1:1)\n    at anna (file://${src}/anna.ts:1:1)`,
  );
  expect(describeError(quoting)).toBe('an unexpected error occurred: SyntaxError');
});
