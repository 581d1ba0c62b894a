import { proveDigest } from '../../../src/core/pages/page-print.ts';
import type { HubPage, ReadOptions, ScanEnd } from '../../../src/hub/hub.ts';
import { dawdle, simulatedError, strikes, type Surroundings } from './surroundings.ts';

/** How a simulated hub lists one collection by keyset. */
export interface KeysetListing<Row> {
  readonly at: Surroundings;
  readonly pageRows: number;
  /** Probability that a request for a page fails. */
  readonly failure: number;
  /** The longest delay of a page, ms; it is rare, and another sync may pass meanwhile. */
  readonly longestMs: number;
  /** Rows after an id, by id; changed after an instant where one is given. */
  select(afterId: string, modifiedAfterMs: number | undefined): readonly Row[];
  idOf(row: Row): string;
  /** A row as the hub returns it. */
  handOut(row: Row): unknown;
  /** A page was recognised. */
  onKnown?(): void;
}

/** The hub looks a page up some time after the request, and delivers it later still. */
export async function* keysetPages<Row>(
  hub: KeysetListing<Row>,
  options: ReadOptions,
): AsyncGenerator<HubPage, ScanEnd> {
  const { at } = hub;
  // Of the rows that match the request (spec 4.3 rule 6).
  const count = (): number => hub.select('', options.modifiedAfterMs).length;
  const totalAtStart = count();
  let after = '';
  let rowsSoFar = 0;
  const end = (sign: ScanEnd['reason']): ScanEnd => ({
    reason: sign,
    paging: 'keyset',
    rows: rowsSoFar,
    totalAtStart,
    totalAtEnd: count(),
  });
  for (;;) {
    const stamp = options.readVersion();
    await dawdle(at, 8);
    options.signal.throwIfAborted();
    if (strikes(at, hub.failure)) throw simulatedError('HUB_UNAVAILABLE');
    const hubTimeMs = at.time.now();
    const total = count();
    const rest = hub.select(after, options.modifiedAfterMs);
    const page = rest.slice(0, hub.pageRows);
    const rows = page.map((row) => hub.handOut(row));
    const answer = asListed(rows, after === '' ? null : after, options);
    if (answer.known !== undefined) hub.onKnown?.();
    await dawdle(at, at.random.chance(0.15) ? hub.longestMs : 10);
    const last = page.at(-1);
    if (last === undefined && rowsSoFar > 0) return end('empty-page');
    yield { ...answer, isUtf8: true, hubTimeMs, total, readVersion: stamp, bytes: 1 };
    rowsSoFar += page.length;
    if (last === undefined) return end('no-rows');
    if (rest.length === page.length) return end('no-next-link');
    after = hub.idOf(last);
  }
}

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
