import { proveDigest } from '../../../src/core/pages/page-fingerprint.ts';
import type { HubPage, ReadOptions } from '../../../src/hub/hub.ts';

/** How a page is shown to what recognises pages: as the text that a hub would send. */
interface Answer {
  readonly rows: readonly unknown[];
  readonly known?: HubPage['known'];
  readonly fingerprint?: HubPage['fingerprint'];
}

export function asListed(rows: readonly unknown[], cursor: string | null, { pages }: ReadOptions): Answer {
  if (pages === undefined || rows.length === 0) return { rows };
  const text = textOf(rows);
  const ids = rows.map((row) => (row as { sourcedId: string }).sourcedId);
  const known = pages.recognise(cursor, text);
  if (known !== null) return { rows, known };
  const fingerprint = (): ReturnType<NonNullable<HubPage['fingerprint']>> => {
    const digest = proveDigest(text, (JSON.parse(text.toString()) as { rows: unknown[] }).rows);
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
  return { rows, fingerprint };
}

/** Rows are listed again and again, and never changed. */
const TEXTS = new WeakMap<object, string>();

/** The text of a page. */
export function textOf(rows: readonly unknown[]): Buffer {
  return Buffer.from(`{"rows":[${rows.map((row) => rowText(row as object)).join()}]}`);
}

function rowText(row: object): string {
  const text = TEXTS.get(row) ?? JSON.stringify(asSent(row));
  TEXTS.set(row, text);
  return text;
}

/** The rows of some collections have their time of modification as text already. */
function asSent(row: { readonly modifiedAtMs?: number }): object {
  const { modifiedAtMs, ...content } = row;
  if (modifiedAtMs === undefined) return row;
  return { ...content, dateLastModified: new Date(modifiedAtMs).toISOString() };
}
