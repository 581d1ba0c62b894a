import { describe, expect, it } from 'vitest';
import { PageMemory } from '../../../src/core/pages/page-memory.ts';
import { collectionNamed } from '../../../src/model/collections.ts';
import type { HubPage, ScanEnd } from '../../../src/hub/hub.ts';
import { sendJson, testHub } from './support/scripted-hub.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

interface School {
  ids: string[];
  stamp: string;
  name: string;
  ignoresCursor: boolean;
  /** The first page, if it is another than the first ids. */
  firstPage?: string[];
}

/** A hub with three rows a page, and what a scan of it returns; the rows of all pages are remembered. */
async function scanner(school: School, settings: Parameters<typeof testHub>[1] = {}) {
  const test = await testHub((request, response) => {
    const after = school.ignoresCursor ? '' : (request.query.get('afterSourcedId') ?? '');
    const ids = after === '' ? (school.firstPage ?? []).concat(school.ids) : school.ids;
    const rest = ids.filter((id) => id > after);
    const users = rest
      .slice(0, 3)
      .map((sourcedId) => ({ sourcedId, name: school.name, dateLastModified: school.stamp }));
    const next =
      rest.length > 3
        ? [`<${request.path}?limit=3&afterSourcedId=${users.at(-1)?.sourcedId}>; rel="next"`]
        : [];
    const link = ['<x>; rel="first"', ...next].join(', ');
    sendJson(response, { users }, { headers: { link, 'x-total-count': String(school.ids.length) } });
  }, settings);
  const pages = new PageMemory(() => 1);
  const scan = async (): Promise<{ known: number; ids: string[]; end: ScanEnd }> => {
    const { signal } = new AbortController();
    const read = test.hub.readPages({
      collection: collectionNamed('users'),
      readVersion: () => 0,
      signal,
      pages,
    });
    const all: HubPage[] = [];
    for (;;) {
      const step = await read.next();
      if (step.done === true) {
        const ids = all.flatMap(({ rows }) => rows.map((row) => (row as { sourcedId: string }).sourcedId));
        return { known: all.filter(({ known }) => known !== undefined).length, ids, end: step.value };
      }
      all.push(step.value);
      const print = step.value.print?.() ?? null;
      if (print !== null) pages.remember(print, print.ids);
    }
  };
  return {
    scan,
    requests: () => test.data().length,
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  };
}

const school = (): School => ({
  ids: IDS,
  stamp: '2026-01-01T00:00:00.000Z',
  name: 'n',
  ignoresCursor: false,
});

describe('a scan that recognises pages', () => {
  it('returns and requests the same as one that parses them, also after a re-stamp', async () => {
    const now = school();
    await using test = await scanner(now);
    const first = await test.scan();
    now.stamp = '2026-02-02T00:00:00Z';
    const second = await test.scan();
    expect(first).toMatchObject({ known: 0, ids: IDS, end: { rows: 7, paging: 'keyset', totalAtEnd: 7 } });
    expect(second).toEqual({ ...first, known: 3 });
    expect(test.requests()).toBe(6);
  });

  it('tells no total where the configuration ignores totals, and has all rows', async () => {
    await using test = await scanner(school(), { totals: 'ignored' });
    const told = { ids: IDS, end: { rows: 7, totalAtStart: null, totalAtEnd: null } };
    expect(await test.scan()).toMatchObject({ known: 0, ...told });
    expect(await test.scan()).toMatchObject({ known: 3, ...told });
  });

  it('parses a page with another content', async () => {
    const now = school();
    await using test = await scanner(now);
    await test.scan();
    now.name = 'other';
    expect(await test.scan()).toMatchObject({ known: 0, ids: IDS });
  });

  it('goes on as with a parsed page where the page before it has its last row alone', async () => {
    const now = school();
    await using test = await scanner(now);
    await test.scan();
    now.firstPage = ['a', 'f', 'c'];
    expect(await test.scan()).toMatchObject({ known: 1, ids: ['a', 'f', 'c', 'd', 'e', 'f', 'g'] });
  });

  it('notices a hub that no longer pages by cursor, although it knows its first page', async () => {
    const now = school();
    await using test = await scanner(now);
    await test.scan();
    now.ignoresCursor = true;
    await expect(test.scan()).rejects.toMatchObject({ code: 'HUB_PAGING_BROKEN' });
  });
});
