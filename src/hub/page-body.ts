import { hash } from 'node:crypto';
import { jsonText } from '../core/json-text.ts';
import { HubError } from './hub-error.ts';

/** Properties that may be lists but are never the collection. */
const NOT_A_COLLECTION = new Set(['errors', 'warnings', 'messages', 'links', '_links']);

function invalid(where: string, what: string): HubError {
  return new HubError('HUB_BODY_INVALID', `Cannot read ${where}: ${what}`, {
    remedy: 'If this continues, check hub.baseUrl, and what the hub answers there.',
  });
}

/**
 * Returns the list in a collection's body: the body itself if it is a list, else the list under `envelope`, else the
 * only list in it. Null when the body has no list, which proves nothing about the hub's rows (OneRoster 1.2: the
 * collection property is optional in the standard's schema). Throws HUB_BODY_INVALID when the body is no collection.
 */
export function listIn(
  body: unknown,
  options: { envelope: string; where: string },
): readonly unknown[] | null {
  const { envelope, where } = options;
  if (body === null || body === undefined) return null;
  if (Array.isArray(body)) return body as readonly unknown[];
  if (typeof body !== 'object') throw invalid(where, 'the answer is JSON but neither an object nor a list');
  const named: unknown = Object.hasOwn(body, envelope)
    ? (body as Record<string, unknown>)[envelope]
    : undefined;
  if (Array.isArray(named)) return named as readonly unknown[];
  if (named !== undefined && named !== null) throw invalid(where, `its "${envelope}" is not a list`);
  const lists = Object.entries(body).filter(
    (entry): entry is [string, unknown[]] =>
      Array.isArray(entry[1]) && !NOT_A_COLLECTION.has(entry[0]) && !entry[0].startsWith('imsx_'),
  );
  return lists.length === 1 ? (lists[0]?.[1] ?? null) : null;
}

/** Returns a row's `sourcedId`; null when it is missing, empty or not text. */
export function readableId(row: unknown): string | null {
  if (typeof row !== 'object' || row === null || !Object.hasOwn(row, 'sourcedId')) return null;
  const id: unknown = (row as Record<string, unknown>)['sourcedId'];
  return typeof id === 'string' && id !== '' ? id : null;
}

/**
 * Returns a text that identifies a page if it comes again: its first readable id, or without one a digest of the page.
 * Null for an empty page.
 */
export function markOf(rows: readonly unknown[]): string | null {
  if (rows.length === 0) return null;
  for (const row of rows) {
    const id = readableId(row);
    if (id !== null) return markOfId(id);
  }
  return `page ${hash('sha1', jsonText(rows))}`;
}

export function markOfId(firstId: string): string {
  return `id ${firstId}`;
}

/** Counts the duplicates among a page's ids. */
export function repeatedIn(ids: readonly string[]): number {
  return ids.length - new Set(ids).size;
}
