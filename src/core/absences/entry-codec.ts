import type { AbsenceEntry, Member, MemberState, Published } from './absence-entry.ts';

/*
 * entry   := head (1 byte) · [student: 4] · [step: varint · position of the version published last: varint] ·
 *            [version that continues it: id] · [members]
 * members := count: varint · (flags: 1 byte · [id])…      an id is left out where it is the key
 * id      := 0 · 16 bytes of a UUID   |   1 + length: varint · UTF-8
 * A lone version (present, own id, no flag) has neither position nor members.
 */
const HEAD = { student: 1, published: 2, deleted: 4, lone: 8, open: 16, continued: 32 } as const;
const FLAG = { deleted: 4, continued: 8, refusedLink: 16, own: 32, successor: 64 } as const;
const STATE_BITS = 3;
const STATES: readonly MemberState[] = ['awaited', 'present', 'gone', 'foreign'];
const PRESENT = STATES.indexOf('present');
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
const STUDENT_BYTES = 4;

export function encodeEntry(key: string, entry: AbsenceEntry): Buffer {
  const { student, members, published, isOpen, continuedBy } = entry;
  const [only] = members;
  const isLone = members.length === 1 && only !== undefined && flagsOf(only, key) === (PRESENT | FLAG.own);
  const bytes = [
    (student === null ? 0 : HEAD.student) |
      (published === null ? 0 : HEAD.published) |
      (published?.isDeleted === true ? HEAD.deleted : 0) |
      (isLone ? HEAD.lone : 0) |
      (isOpen ? HEAD.open : 0) |
      (continuedBy === null ? 0 : HEAD.continued),
  ];
  // Buffer.from takes the lowest eight bits of a number.
  if (student !== null) bytes.push(student >>> 24, student >>> 16, student >>> 8, student);
  if (published !== null) {
    addVarint(bytes, published.step);
    const position = members.findIndex(({ id }) => id === published.versionId);
    if (!isLone) addVarint(bytes, position);
  }
  if (continuedBy !== null) bytes.push(...idBytes(continuedBy));
  if (isLone) return Buffer.from(bytes);
  addVarint(bytes, members.length);
  for (const member of members) {
    bytes.push(flagsOf(member, key));
    if (member.id !== key) bytes.push(...idBytes(member.id));
  }
  return Buffer.from(bytes);
}

function flagsOf(member: Member, key: string): number {
  return (
    STATES.indexOf(member.state) |
    (member.isDeleted ? FLAG.deleted : 0) |
    (member.isContinued ? FLAG.continued : 0) |
    (member.hasRefusedLink ? FLAG.refusedLink : 0) |
    (member.id === key ? FLAG.own : 0) |
    (member.namesSuccessor ? FLAG.successor : 0)
  );
}

function idBytes(id: string): number[] {
  const isUuid = UUID.test(id);
  const content = isUuid ? Buffer.from(id.replaceAll('-', ''), 'hex') : Buffer.from(id, 'utf8');
  const bytes: number[] = [];
  addVarint(bytes, isUuid ? 0 : content.length + 1);
  return bytes.concat(...content);
}

function addVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  bytes.push(rest);
}

export function encodePointer(absenceId: string): Buffer {
  return Buffer.from(idBytes(absenceId));
}

/** Throws `RangeError` for bytes that are not a pointer. */
export function decodePointer(bytes: Buffer): string {
  const reader = new EntryReader(bytes);
  const id = reader.id();
  reader.end();
  return id;
}

/** Throws `RangeError` for bytes that are not an entry. */
export function decodeEntry(key: string, bytes: Buffer): AbsenceEntry {
  const reader = new EntryReader(bytes);
  const head = reader.byte();
  const isLone = (head & HEAD.lone) !== 0;
  const student = (head & HEAD.student) === 0 ? null : reader.take(STUDENT_BYTES).readUInt32BE();
  const step = (head & HEAD.published) === 0 ? null : reader.varint();
  const position = step === null || isLone ? 0 : reader.varint();
  const continuedBy = (head & HEAD.continued) === 0 ? null : reader.id();
  const members: Member[] = [];
  const count = isLone ? 1 : reader.varint();
  for (let each = 0; each < count; each += 1)
    members.push(memberOf(isLone ? PRESENT | FLAG.own : reader.byte(), { key, reader }));
  reader.end();
  let published: Published | null = null;
  if (step !== null) {
    const version = members[position];
    if (version === undefined) throw new RangeError('the version published last is no member of the absence');
    published = { step, versionId: version.id, isDeleted: (head & HEAD.deleted) !== 0 };
  }
  return { student, members, published, isOpen: (head & HEAD.open) !== 0, continuedBy };
}

function memberOf(flags: number, { key, reader }: { key: string; reader: EntryReader }): Member {
  return {
    id: (flags & FLAG.own) === 0 ? reader.id() : key,
    state: STATES[flags & STATE_BITS] as MemberState,
    isDeleted: (flags & FLAG.deleted) !== 0,
    isContinued: (flags & FLAG.continued) !== 0,
    hasRefusedLink: (flags & FLAG.refusedLink) !== 0,
    namesSuccessor: (flags & FLAG.successor) !== 0,
  };
}

class EntryReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  take(length: number): Buffer {
    if (this.#at + length > this.#bytes.length) throw new RangeError('an entry ends too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  byte(): number {
    return this.take(1).readUInt8();
  }

  varint(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const next = this.byte();
      value += (next & 127) * scale;
      if (next < 128) return value;
    }
  }

  id(): string {
    const length = this.varint();
    if (length > 0) return this.take(length - 1).toString('utf8');
    const hex = this.take(UUID_BYTES).toString('hex');
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }

  end(): void {
    if (this.#at !== this.#bytes.length) throw new RangeError('an entry is longer than it says');
  }
}
