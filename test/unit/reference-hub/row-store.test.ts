import { describe, expect, it } from 'vitest';
import { generatedRow } from '../../../reference-hub/district/row.ts';
import { bytesOf, createStore } from '../../../reference-hub/district/row-store.ts';

describe('the rows of the reference hub', () => {
  it('are built anew instead of kept once a kind has taken its share of memory, with the same text', () => {
    const store = createStore({ build: (index) => ({ place: index }) }, 0);
    const kept = generatedRow('a', 1);
    const text = bytesOf(store, kept).toString();
    store.keptBytes = Number.MAX_SAFE_INTEGER;
    const passing = generatedRow('a', 1);
    expect(bytesOf(store, passing).toString()).toBe(text);
    expect([kept.bytes?.toString(), passing.bytes]).toEqual([text, undefined]);
  });
});
