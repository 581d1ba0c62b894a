import type { AbsenceEntry, VersionEntry, VersionState } from './chain-state.ts';

/*
 * Values of the chain index. Numbers are unsigned varints (7 bits a byte, low first) unless said otherwise.
 *
 * version := format(4 bits) flags(4 bits) · flags(8 bits) · [student: 4 bytes] · [replaces: id] · [replacedBy: id]
 *            · [absenceId: id] · [count · id…]
 * absence := format(4 bits) flags(4 bits) · step · since · [published version: id] · [mergedInto: id] · [student: 4 bytes]
 * id      := 0 · the 16 bytes of a UUID in lower case   |   1 + length in bytes · UTF-8
 *
 * The version of a chain of one has no entry (lone-version.ts). With UUIDs, a first version that was replaced takes 23, the second one 23, each further
 * one 57 (40 as the tail); an absence 7 to 11, and 17 more once it was replaced. The key, and what the store needs for
 * it, come on top.
 */
const FORMAT = 1;
/**
 * An absence that also stands for the version with its id (lone-version.ts), otherwise as in the first format. A version
 * of Rollcall that does not know the format cannot read such an entry, and imports the index anew.
 */
const FORMAT_WITH_VERSION = 2;
const STATES: readonly VersionState[] = ['present', 'vanished', 'gone', 'unresolved'];

const HAS_STUDENT = 1;
const HAS_LINKS = 2;

const IS_DELETED = 4;
const IS_RESOLVED = 8;
const HAS_REPLACES = 16;
const HAS_REPLACED_BY = 32;
/** Two bits: no absence · its id is the version's own · its id is the one in `replaces` · its id is written out. */
const ABSENCE_SHIFT = 6;

const IS_PUBLISHED_AS_DELETED = 1;
const IS_MERGED = 2;
const PUBLISHED_IS_OWN_ID = 4;
const IS_STUDENTS = 8;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function encodeVersionEntry(versionId: string, entry: VersionEntry): Buffer {
  const parts: Buffer[] = [];
  const hasStudent = entry.student !== 0;
  const hasLinks = entry.linkedFrom.length > 0;
  const absence = absenceKind(versionId, entry);
  const flags =
    STATES.indexOf(entry.state) |
    (entry.isDeleted ? IS_DELETED : 0) |
    (entry.isResolved ? IS_RESOLVED : 0) |
    (entry.replaces === null ? 0 : HAS_REPLACES) |
    (entry.replacedBy === null ? 0 : HAS_REPLACED_BY) |
    (absence << ABSENCE_SHIFT);
  parts.push(
    Buffer.from([(FORMAT << 4) | (hasStudent ? HAS_STUDENT : 0) | (hasLinks ? HAS_LINKS : 0), flags]),
  );
  if (hasStudent) {
    parts.push(encodeUint32(entry.student));
  }
  if (entry.replaces !== null) parts.push(encodeId(entry.replaces));
  if (entry.replacedBy !== null) parts.push(encodeId(entry.replacedBy));
  if (absence === 3 && entry.absenceId !== null) parts.push(encodeId(entry.absenceId));
  if (hasLinks) parts.push(encodeNumber(entry.linkedFrom.length), ...entry.linkedFrom.map(encodeId));
  return Buffer.concat(parts);
}

/** @throws RangeError if the bytes have another format or are cut short: the index must be rebuilt */
export function decodeVersionEntry(versionId: string, bytes: Buffer): VersionEntry {
  const reader = new EntryReader(bytes);
  const head = reader.head(FORMAT);
  const flags = reader.byte();
  const student = (head & HAS_STUDENT) === 0 ? 0 : reader.uint32();
  const replaces = (flags & HAS_REPLACES) === 0 ? null : reader.id();
  const replacedBy = (flags & HAS_REPLACED_BY) === 0 ? null : reader.id();
  const kind = flags >> ABSENCE_SHIFT;
  const absenceId = [null, versionId, replaces][kind] ?? (kind === 3 ? reader.id() : null);
  const linkedFrom: string[] = [];
  const count = (head & HAS_LINKS) === 0 ? 0 : reader.number();
  for (let index = 0; index < count; index += 1) linkedFrom.push(reader.id());
  reader.end();
  return {
    state: STATES[flags & 3] ?? 'unresolved',
    replaces,
    replacedBy,
    linkedFrom,
    isDeleted: (flags & IS_DELETED) !== 0,
    student,
    absenceId,
    isResolved: (flags & IS_RESOLVED) !== 0,
  };
}

export function encodeAbsenceEntry(absenceId: string, entry: AbsenceEntry, standsForVersion = false): Buffer {
  const isOwn = entry.publishedVersionId === absenceId;
  const flags =
    (entry.isPublishedAsDeleted ? IS_PUBLISHED_AS_DELETED : 0) |
    (entry.mergedInto === null ? 0 : IS_MERGED) |
    (isOwn ? PUBLISHED_IS_OWN_ID : 0) |
    (entry.student === 0 ? 0 : IS_STUDENTS);
  const parts = [
    Buffer.from([((standsForVersion ? FORMAT_WITH_VERSION : FORMAT) << 4) | flags]),
    encodeNumber(entry.step),
    encodeNumber(entry.since),
    ...(isOwn ? [] : [encodeId(entry.publishedVersionId)]),
    ...(entry.mergedInto === null ? [] : [encodeId(entry.mergedInto)]),
    ...(entry.student === 0 ? [] : [encodeUint32(entry.student)]),
  ];
  return Buffer.concat(parts);
}

/** @throws RangeError if the bytes have another format or are cut short: the index must be rebuilt */
export function decodeAbsenceEntry(absenceId: string, bytes: Buffer): AbsenceEntry {
  const reader = new EntryReader(bytes);
  const flags = reader.head(hasLoneVersion(bytes) ? FORMAT_WITH_VERSION : FORMAT);
  const step = reader.number();
  const since = reader.number();
  const publishedVersionId = (flags & PUBLISHED_IS_OWN_ID) === 0 ? reader.id() : absenceId;
  const mergedInto = (flags & IS_MERGED) === 0 ? null : reader.id();
  const student = (flags & IS_STUDENTS) === 0 ? 0 : reader.uint32();
  reader.end();
  return {
    step,
    publishedVersionId,
    isPublishedAsDeleted: (flags & IS_PUBLISHED_AS_DELETED) !== 0,
    mergedInto,
    since,
    student,
  };
}

/** Whether the entry of an absence stands for the version with its id too. */
export function hasLoneVersion(bytes: Buffer): boolean {
  return (bytes[0] ?? 0) >> 4 === FORMAT_WITH_VERSION;
}

function absenceKind(versionId: string, entry: VersionEntry): 0 | 1 | 2 | 3 {
  if (entry.absenceId === null) return 0;
  if (entry.absenceId === versionId) return 1;
  return entry.absenceId === entry.replaces ? 2 : 3;
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function encodeId(id: string): Buffer {
  if (UUID.test(id)) return Buffer.from(`00${id.replaceAll('-', '')}`, 'hex');
  const text = Buffer.from(id, 'utf8');
  return Buffer.concat([encodeNumber(text.length + 1), text]);
}

function encodeNumber(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
  return Buffer.from(bytes);
}

class EntryReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  head(format: number): number {
    const byte = this.byte();
    if (byte >> 4 !== format) throw new RangeError(`A chain entry is of format ${byte >> 4}, not ${format}.`);
    return byte & 15;
  }

  byte(): number {
    return this.#take(1)[0] ?? 0;
  }

  uint32(): number {
    return this.#take(4).readUInt32BE();
  }

  number(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }

  id(): string {
    const length = this.number();
    if (length > 0) return this.#take(length - 1).toString('utf8');
    const hex = this.#take(16).toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new RangeError('A chain entry is longer than it says.');
  }

  #take(length: number): Buffer {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new RangeError('A chain entry ends too early.');
    const part = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }
}
