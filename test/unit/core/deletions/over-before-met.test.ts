import { describe, expect, it } from 'vitest';
import { isOverBeforeMet } from '../../../../src/core/deletions/over-before-met.ts';
import type { ReadableRow } from '../../../../src/core/decoded-row.ts';

function row(value: object): ReadableRow {
  return { kind: 'row', sourcedId: 'new', value, hash: Buffer.alloc(16), modifiedAtMs: null };
}

describe('what is over before it was met', () => {
  it.each([
    { name: 'a row marked for deletion', value: { status: 'tobedeleted' }, is: true },
    { name: 'an active row', value: { status: 'active' }, is: false },
    { name: 'a deleted absence', value: { deletedTime: 5 }, is: true },
    {
      name: 'a deleted absence whose former version is unknown',
      value: { deletedTime: 5, replaces: { sourcedId: 'x' } },
      is: true,
    },
    {
      name: 'a deletion of an absence that is published',
      value: { deletedTime: 5, replaces: { sourcedId: 'known' } },
      is: false,
    },
    { name: 'a live absence', value: { deletedTime: null }, is: false },
  ])('$name: $is', ({ value, is }) => {
    expect(isOverBeforeMet(row(value), (key) => key === 'known')).toBe(is);
  });
});
