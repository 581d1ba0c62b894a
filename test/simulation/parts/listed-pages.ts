import { proveDigest } from '../../../src/core/pages/page-print.ts';
import type { HubPage, ReadOptions } from '../../../src/hub/hub.ts';

/** How a page is shown to what recognises pages: as the text that a hub would send. */
interface Answer {
  readonly rows: readonly unknown[];
  readonly known?: HubPage['known'];
  readonly print?: HubPage['print'];
}

export function asListed(rows: readonly unknown[], cursor: string | null, { pages }: ReadOptions): Answer {
  if (pages === undefined || rows.length === 0) return { rows };
  const text = textOf(rows);
  const known = pages.recognise(cursor, text);
  if (known !== null) return { rows, known };
  const print = (): ReturnType<NonNullable<HubPage['print']>> => {
    const digest = proveDigest(text, (body) => (body as { rows: unknown[] }).rows);
    const ids = rows.map((row) => (row as { sourcedId: string }).sourcedId);
    return digest === null
      ? null
      : {
          cursor,
          address: `https://hub.example/rows?after=${cursor}`,
          limit: rows.length,
          bytes: text.length,
          digest,
          ids,
        };
  };
  return { rows, print };
}

/** The text of a page; the rows of some collections have their time of modification as text already. */
export function textOf(rows: readonly unknown[]): Buffer {
  const sent = rows.map((row) => {
    const { modifiedAtMs, ...content } = row as { modifiedAtMs?: number };
    if (modifiedAtMs === undefined) return row;
    return { ...content, dateLastModified: new Date(modifiedAtMs).toISOString() };
  });
  return Buffer.from(JSON.stringify({ rows: sent }));
}
