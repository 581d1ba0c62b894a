import { expect, test } from 'vitest';
import { PageMemory, type RememberedPage } from '../../../../src/core/pages/page-memory.ts';
import { digestOf } from '../../../../src/core/pages/page-fingerprint.ts';

const PAGE = ['a', 'b', 'c'];

function textOf(ids: readonly string[], stamp = '2026-01-01T00:00:00Z'): Buffer {
  return Buffer.from(JSON.stringify(ids.map((sourcedId) => ({ sourcedId, dateLastModified: stamp }))));
}

function memoryWith(ids = PAGE, limits?: { bytes: number; changes: number }): PageMemory {
  const memory = new PageMemory(1, limits);
  memory.beginFull();
  remember(memory, null, ids);
  return memory;
}

function remember(memory: PageMemory, cursor: string | null, ids: readonly string[]): void {
  const digest = digestOf(textOf(ids));
  if (digest === null) throw new Error('no digest');
  const address = `https://hub.example/users?after=${cursor}`;
  memory.remember({ cursor, address, limit: 3, bytes: 100, digest, ids });
}

function recognise(memory: PageMemory, cursor: string | null, ids: readonly string[]): RememberedPage | null {
  return memory.recognise(cursor, textOf(ids, '2026-02-02T00:00:00.000Z'));
}

function recognised(memory: PageMemory, cursor: string | null = null, ids = PAGE): RememberedPage {
  const page = recognise(memory, cursor, ids);
  if (page === null) throw new Error('not recognised');
  return page;
}

test('a remembered page is recognised after a re-stamp, not with another content or at another cursor', () => {
  const memory = memoryWith();
  const page = recognised(memory);
  expect(page).toMatchObject({ rows: 3, lastId: 'c' });
  expect(memory.isCurrent(page)).toBe(true);
  expect(recognise(memory, null, ['a', 'b', 'd'])).toBeNull();
  expect(recognise(memory, '0', PAGE)).toBeNull();
});

test('a remembered page is current until one of its keys changes, and once it is remembered again', () => {
  for (const key of [...PAGE, 'd']) {
    const memory = memoryWith();
    memory.noteChanged(key);
    const before = recognised(memory);
    expect(memory.isCurrent(before)).toBe(key === 'd');
    remember(memory, null, PAGE);
    expect(memory.isCurrent(before)).toBe(false);
    const now = recognised(memory);
    expect(memory.isCurrent(now)).toBe(true);
    memory.forget();
    expect(memory.isCurrent(now)).toBe(false);
  }
});

test('a complete full sync drops the remembered pages that it did not meet, and keeps the others', () => {
  const memory = memoryWith();
  remember(memory, 'c', ['d']);
  const begun = memory.beginFull();
  memory.confirm(recognised(memory));
  memory.noteChanged('b');
  memory.endFull(begun);
  expect(memory.isCurrent(recognised(memory))).toBe(false);
  expect(recognise(memory, 'c', ['d'])).toBeNull();
});

test('the memory of pages stays within its bound, and drops all pages after too many changes', () => {
  const memory = memoryWith(PAGE, { bytes: 2 * 900 + 4 * 8, changes: 2 });
  remember(memory, 'c', ['d', 'e']);
  expect(recognise(memory, 'c', ['d', 'e'])).toBeNull();
  for (let times = 0; times < 5; times += 1) remember(memory, null, PAGE);
  remember(memory, 'c', ['d']);
  expect(recognise(memory, 'c', ['d'])).not.toBeNull();
  for (const key of ['x', 'y', 'z']) memory.noteChanged(key);
  expect(recognise(memory, null, PAGE)).toBeNull();
});
