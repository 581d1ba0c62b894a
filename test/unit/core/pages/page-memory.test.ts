import { describe, expect, test } from 'vitest';
import { PageMemory, type RememberedPage } from '../../../../src/core/pages/page-memory.ts';
import { digestOf } from '../../../../src/core/pages/page-print.ts';
import { SeenKeys } from '../../../../src/core/seen-keys.ts';

const PAGE = ['a', 'b', 'c'];

function textOf(ids: readonly string[], stamp = '2026-01-01T00:00:00Z'): Buffer {
  return Buffer.from(JSON.stringify(ids.map((sourcedId) => ({ sourcedId, dateLastModified: stamp }))));
}

function memoryWith(ids = PAGE, limits?: { bytes: number; changes: number }): PageMemory {
  let seed = 0;
  const memory = new PageMemory(() => (seed += 1), limits);
  memory.beginFull();
  remember(memory, null, ids);
  return memory;
}

function remember(memory: PageMemory, cursor: string | null, ids: readonly string[]): void {
  const digest = digestOf(textOf(ids));
  if (digest === null) throw new Error('no digest');
  const address = `https://hub.example/users?after=${cursor}`;
  memory.remember({ cursor, address, limit: 3, bytes: 100, digest, ids }, ids);
}

function recognised(memory: PageMemory, cursor: string | null = null, ids = PAGE): RememberedPage {
  const page = memory.recognise(cursor, textOf(ids, '2026-02-02T00:00:00.000Z'));
  if (page === null) throw new Error('not recognised');
  return page;
}

describe('a remembered page', () => {
  test('is recognised after a re-stamp, not with another content or at another cursor, and is current', () => {
    const memory = memoryWith();
    const page = recognised(memory);
    expect(page).toMatchObject({ rows: 3, firstId: 'a', lastId: 'c' });
    expect(memory.isCurrent(page)).toBe(true);
    expect(memory.recognise(null, textOf(['a', 'b', 'd']))).toBeNull();
    expect(memory.recognise('0', textOf(PAGE))).toBeNull();
  });

  test('is not current once any key of it has changed, until it is remembered again', () => {
    for (const key of [...PAGE, 'd']) {
      const memory = memoryWith();
      memory.noteChanged(key);
      expect(memory.isCurrent(recognised(memory))).toBe(key === 'd');
      remember(memory, null, PAGE);
      expect(memory.isCurrent(recognised(memory))).toBe(true);
    }
  });

  test('is not current after it was replaced, or everything was forgotten', () => {
    const memory = memoryWith();
    const before = recognised(memory);
    remember(memory, null, PAGE);
    expect(memory.isCurrent(before)).toBe(false);
    const now = recognised(memory);
    memory.forget();
    expect(memory.isCurrent(now)).toBe(false);
  });

  test('is dropped by a complete full sync that did not meet it, and kept by one that did, with its changes', () => {
    const memory = memoryWith();
    remember(memory, 'c', ['d']);
    const begun = memory.beginFull();
    memory.confirm(recognised(memory));
    memory.noteChanged('b');
    memory.endFull(begun);
    expect(memory.isCurrent(recognised(memory))).toBe(false);
    expect(memory.recognise('c', textOf(['d']))).toBeNull();
  });
});

describe('the memory of pages', () => {
  test('drops everything when more keys change than it remembers', () => {
    const memory = memoryWith(PAGE, { bytes: 10_000, changes: 2 });
    for (const key of ['x', 'y', 'z']) memory.noteChanged(key);
    expect(memory.recognise(null, textOf(PAGE))).toBeNull();
  });

  test('takes no more than its bound, over any number of full syncs', () => {
    const memory = memoryWith(PAGE, { bytes: 2 * 900 + 4 * 8, changes: 2 });
    remember(memory, 'c', ['d', 'e']);
    expect(memory.recognise('c', textOf(['d', 'e']))).toBeNull();
    for (let times = 0; times < 5; times += 1) remember(memory, null, PAGE);
    remember(memory, 'c', ['d']);
    expect(memory.recognise('c', textOf(['d']))).not.toBeNull();
  });

  test('counts what a page takes beside its rows: of pages of one row it holds few', () => {
    const memory = memoryWith(['0'], { bytes: 100_000, changes: 2 });
    for (let row = 0; row < 1_000; row += 1) remember(memory, String(row), [String(row + 1)]);
    const cursors = Array.from({ length: 1_000 }, (_, row) => row);
    const held = cursors.filter((row) => memory.recognise(String(row), textOf([String(row + 1)])) !== null);
    expect(held.length).toBeGreaterThan(90);
    expect(held.length).toBeLessThan(120);
  });

  test('begins again with other fingerprints after some full syncs', () => {
    const memory = memoryWith();
    const { seed } = memory;
    for (let syncs = 1; syncs < 7; syncs += 1) memory.beginFull();
    expect(memory.seed).toBe(seed);
    expect(memory.recognise(null, textOf(PAGE))).not.toBeNull();
    memory.beginFull();
    expect(memory.seed).not.toBe(seed);
    expect(memory.recognise(null, textOf(PAGE))).toBeNull();
  });

  test('its fingerprints are those of the keys that a sync has seen', () => {
    const memory = memoryWith();
    const { keys } = recognised(memory);
    const seen = new SeenKeys(memory.seed);
    expect(seen.fits(keys)).toBe(true);
    expect(seen.hasAny(keys)).toBe(false);
    seen.addAll(keys);
    expect(seen.size).toBe(3);
    for (const key of PAGE) expect(seen.has(key) && keys.lookup().has(key)).toBe(true);
    expect(seen.has('d') || keys.lookup().has('d')).toBe(false);
    expect(new SeenKeys(memory.seed + 1).fits(keys)).toBe(false);
  });
});
