import { isBlank } from '../field-readers.ts';
import { isJsonObject, isRawJson } from '../raw-json.ts';

/** A reference as in every schema (spec 2.1). */
export interface Reference {
  readonly sourcedId: string;
  readonly type: string | null;
  readonly href: string | null;
}

const ID_NAMES = ['sourcedId', 'id', 'systemId'];
const ROOM_NAMES = ['name', 'title', 'displayName', 'navn', ...ID_NAMES];

/** An id as text: a text that is not blank, or the digits of an integer. Null for anything else. */
export function idText(raw: unknown): string | null {
  if (typeof raw === 'string') return isBlank(raw) || !raw.isWellFormed() ? null : raw;
  if (typeof raw === 'number') return Number.isSafeInteger(raw) ? String(raw) : null;
  // A number that a double cannot hold has its digits in `rawJSON`.
  return isRawJson(raw) && /^-?\d{1,40}$/.test(raw.rawJSON) ? raw.rawJSON : null;
}

/**
 * Reads one reference or a list of references: objects with `sourcedId`, `id`, `systemId` or only an `href` (its last
 * segment is the id), or plain ids or addresses. Null when one of them is unreadable: a shorter list would be false.
 */
export function readReferences(raw: unknown): readonly Reference[] | null {
  return readEach(raw, readReference);
}

/** Reads one room or a list of rooms: texts, or objects with a name or an id. Skips empty texts. Null as above. */
export function readRooms(raw: unknown): readonly string[] | null {
  const given: unknown[] = Array.isArray(raw) ? (raw as unknown[]) : [raw];
  const rooms = given.filter((room) => !(typeof room === 'string' && isBlank(room)));
  return readEach(rooms, (room) => {
    if (!isJsonObject(room)) return idText(room);
    return firstId(room, ROOM_NAMES) ?? readReference(room)?.sourcedId ?? null;
  });
}

function readEach<T>(raw: unknown, read: (element: unknown) => T | null): readonly T[] | null {
  const all: T[] = [];
  for (const element of Array.isArray(raw) ? (raw as unknown[]) : [raw]) {
    const one = read(element);
    if (one === null) return null;
    all.push(one);
  }
  return all;
}

function readReference(raw: unknown): Reference | null {
  if (!isJsonObject(raw)) {
    const id = idText(raw);
    if (id === null) return null;
    const isAddress = /^https?:\/\//i.test(id);
    const sourcedId = isAddress ? lastSegment(id) : id;
    return sourcedId === null ? null : { sourcedId, type: null, href: isAddress ? id : null };
  }
  const href = textOf(raw['href']);
  const sourcedId = firstId(raw, ID_NAMES) ?? (href === null ? null : lastSegment(href));
  return sourcedId === null ? null : { sourcedId, type: textOf(raw['type']), href };
}

function firstId(members: Readonly<Record<string, unknown>>, names: readonly string[]): string | null {
  for (const name of names) {
    const id = Object.hasOwn(members, name) ? idText(members[name]) : null;
    if (id !== null) return id;
  }
  return null;
}

function textOf(raw: unknown): string | null {
  return typeof raw === 'string' && raw.isWellFormed() ? raw : null;
}

function lastSegment(address: string): string | null {
  const path = address.replace(/[?#].*$/s, '').replace(/\/+$/, '');
  const segment = path.slice(path.lastIndexOf('/') + 1);
  try {
    return idText(decodeURIComponent(segment));
  } catch {
    return null;
  }
}
