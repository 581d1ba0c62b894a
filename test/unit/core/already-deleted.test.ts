import { expect, it } from 'vitest';
import { isAlreadyDeleted } from '../../../src/core/rows/already-deleted.ts';
import type { ReadableRow } from '../../../src/core/rows/decoded-row.ts';

function row(value: object): ReadableRow {
  return { kind: 'row', sourcedId: 'new', value, hash: Buffer.alloc(16), modifiedAtMs: null };
}

it.each([
  ['a row marked for deletion', { status: 'tobedeleted' }, true],
  ['an active row', { status: 'active' }, false],
  ['a deleted absence', { deletedTime: 5 }, true],
  ['a deleted absence of an unknown former version', { deletedTime: 5, replaces: { sourcedId: 'x' } }, true],
  ['a deletion of a published absence', { deletedTime: 5, replaces: { sourcedId: 'known' } }, false],
  ['a live absence', { deletedTime: null }, false],
])('$0 counts as already deleted at its first reading: $2', (_name, value, is) => {
  expect(isAlreadyDeleted(row(value), (key) => key === 'known')).toBe(is);
});
