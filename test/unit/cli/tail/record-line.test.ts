import picocolors from 'picocolors';
import { describe, expect, it } from 'vitest';
import { recordAsJson, recordLine, tailedRecord } from '../../../../src/cli/tail/record-line.ts';
import type { TopicSuffix } from '../../../../src/model/collections.ts';

const colors = picocolors.createColors(false);
const PUBLISHED_MS = new Date(2026, 10, 20, 14, 2, 11).getTime();

function record(
  options: {
    suffix?: TopicSuffix;
    key?: string;
    value?: unknown;
    headers?: Record<string, string>;
    removed?: boolean;
  } = {},
) {
  const { suffix = 'users', key = 'u-1', value = { givenName: 'Oppdikta' }, removed = false } = options;
  const headers = options.headers ?? { ce_type: `rollcall.${suffix}.created` };
  return tailedRecord(
    { topic: `rollcall.north.${suffix}`, suffix, partition: 2 },
    {
      key: Buffer.from(key),
      value: removed ? null : Buffer.from([0]),
      headers: Object.fromEntries(Object.entries(headers).map(([name, text]) => [name, Buffer.from(text)])),
      offset: '118',
      timestamp: String(PUBLISHED_MS),
      attributes: 0,
    },
    removed ? null : value,
  );
}

const plain = { colors, values: false, showTopic: false, timeZone: 'Europe/Oslo' };

describe('a line of tail', () => {
  it('shows only the key of a row', () => {
    expect(recordLine(record(), plain)).toBe('14:02:11  2@118     created  u-1');
  });

  it('shows the value only on request', () => {
    expect(recordLine(record(), { ...plain, values: true })).toMatch(/u-1 {2}\{"givenName":"Oppdikta"\}$/);
  });

  it('of a removal names it and shows no value', () => {
    const removal = record({ removed: true, headers: { ce_type: 'rollcall.users.deleted' } });
    expect(recordLine(removal, { ...plain, values: true })).toBe('14:02:11  2@118     deleted  u-1');
  });

  it('of a record without headers follows from its value', () => {
    expect(recordLine(record({ headers: {} }), plain)).toContain('updated');
    expect(recordLine(record({ headers: {}, removed: true }), plain)).toContain('deleted');
  });

  it('names the topic when there are several', () => {
    expect(recordLine(record(), { ...plain, showTopic: true })).toContain('rollcall.north.users');
  });

  it('contains no control character of a key', () => {
    const line = recordLine(record({ key: 'a\u001B[2J\nb' }), plain);
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(line).not.toMatch(/[\u0000-\u001F]/);
  });

  it('of progress shows how far the sync is', () => {
    const value = {
      sequence: 7,
      mode: 'FULL',
      complete: false,
      rowsSeen: 3,
      rowsPublished: 2,
      rowsRemoved: 1,
      rowsRejected: 0,
      rowsWithheld: 51,
    };
    expect(recordLine(record({ suffix: 'progress', key: 'users', value }), plain)).toMatch(
      /users {2}#7 FULL running: seen 3, published 2, removed 1, rejected 0, withheld 51$/,
    );
  });

  it('of a reject shows the reason and not the row', () => {
    const value = { collection: 'users', reason: 'fromTime cannot be read', row: '{"givenName":"Oppdikta"}' };
    const line = recordLine(record({ suffix: 'rejects', key: 'users|u-1', value }), plain);
    expect(line).toContain('fromTime cannot be read');
    expect(line).not.toContain('Oppdikta');
  });
});

const BEFORE = {
  sourcedId: 'v-1',
  dateLastModified: Date.parse('2026-03-10T07:00:00Z'),
  fromTime: Date.parse('2026-03-10T07:15:00Z'),
  toTime: Date.parse('2026-03-10T08:00:00Z'),
  absenceDurationValue: 45,
  student: { sourcedId: 's-1', type: 'user', href: 'https://hub.example/s-1' },
  classesAffected: { sourcedId: 'c-1', type: 'class', href: 'https://hub.example/c-1' },
  replaces: null,
  additionalFields: null,
};
const AFTER = {
  ...BEFORE,
  sourcedId: 'v-2',
  toTime: Date.parse('2026-03-10T07:40:00Z'),
  absenceDurationValue: 25,
  student: { ...BEFORE.student, href: 'https://other.example/s-1' },
  replaces: { sourcedId: 'v-1', type: 'absence', href: null },
};

function change(value: Record<string, unknown>, operation = String(value['operation'])) {
  return record({
    suffix: 'absence-changes',
    key: 'v-1',
    headers: { ce_type: `rollcall.absence.${operation.toLowerCase()}` },
    value: {
      absenceId: 'v-1',
      step: 1,
      version: BEFORE,
      previousVersion: null,
      snapshot: false,
      cause: 'HUB',
      mergedInto: null,
      ...value,
    },
  });
}

describe('a line of absence-changes', () => {
  it("of a new absence shows its time in the tenant's time zone", () => {
    expect(recordLine(change({ operation: 'CREATED' }), plain)).toBe(
      '14:02:11  2@118     created    v-1  step 1  2026-03-10 08:15–09:00  class c-1',
    );
  });

  it('of a replacement shows the change of time, and no field that every new version changes', () => {
    const replaced = change({ operation: 'REPLACED', step: 2, version: AFTER, previousVersion: BEFORE });
    expect(recordLine(replaced, plain)).toBe(
      '14:02:11  2@118     replaced   v-1  step 2  → v-2  2026-03-10 08:15–09:00 → 08:15–08:40  class c-1',
    );
  });

  it('of another day, class or field shows the difference without values of unknown fields', () => {
    const version = {
      ...BEFORE,
      sourcedId: 'v-2',
      fromTime: Date.parse('2026-06-11T07:15:00Z'),
      toTime: Date.parse('2026-06-12T08:00:00Z'),
      classesAffected: null,
      status: 'active',
      additionalFields: { reason: '"Oppdikta"' },
    };
    const line = recordLine(change({ operation: 'REPLACED', version, previousVersion: BEFORE }), plain);
    expect(line).toContain('2026-03-10 08:15–09:00 → 2026-06-11 09:15 – 2026-06-12 10:00');
    expect(line).toContain('class c-1 → none');
    expect(line).toContain('also additionalFields, status');
    expect(line).not.toContain('Oppdikta');
  });

  it("shows the cause of a deletion that is not the hub's own", () => {
    const vanished = change({ operation: 'DELETED', step: 3, version: AFTER, cause: 'VANISHED' });
    expect(recordLine(vanished, plain)).toMatch(/deleted {4}v-1 {2}step 3 {2}version v-2 .* VANISHED$/);
    const merged = change({ operation: 'DELETED', cause: 'MERGED', mergedInto: 'v-0' });
    expect(recordLine(merged, plain)).toMatch(/ MERGED {2}into v-0$/);
    expect(recordLine(change({ operation: 'RESTORED' }), plain)).toMatch(/restored {3}v-1 .* class c-1$/);
  });

  it('marks an event of a first load as a snapshot', () => {
    const first = recordLine(change({ operation: 'CREATED', snapshot: true }), plain);
    expect(first).toMatch(/ {2}snapshot$/);
  });

  it('shows the removal of a key as "forgotten", not as the deletion of an absence', () => {
    const removal = record({
      suffix: 'absence-changes',
      key: 'v-1',
      removed: true,
      headers: { ce_type: 'rollcall.absence.deleted' },
    });
    expect(recordLine(removal, { ...plain, values: true })).toBe('14:02:11  2@118     forgotten  v-1');
  });

  it.each([
    ['only its id', { sourcedId: 'v-1' }, '?–?'],
    [
      'a time that no calendar has',
      { sourcedId: 'v-1', fromTime: 9e15, toTime: BEFORE.toTime },
      '? – 2026-03-10 09:00',
    ],
    ['no end', { sourcedId: 'v-1', fromTime: BEFORE.fromTime }, '2026-03-10 08:15–?'],
  ])('shows "?" for times of a version that has %s', (_name, version, expected) => {
    expect(recordLine(change({ operation: 'CREATED', version }), plain)).toContain(`step 1  ${expected}`);
  });

  it('shows only the key for a value of another shape', () => {
    expect(recordLine(record({ suffix: 'absence-changes', value: { other: 1 } }), plain)).toMatch(/u-1$/);
  });
});

describe('a record as JSON', () => {
  it('has the shape that programs rely on', () => {
    expect(recordAsJson(record())).toEqual({
      topic: 'rollcall.north.users',
      partition: 2,
      offset: 118,
      timestamp: new Date(PUBLISHED_MS).toISOString(),
      key: 'u-1',
      headers: { ce_type: 'rollcall.users.created' },
      value: { givenName: 'Oppdikta' },
    });
  });

  it('of a removal has a null value', () => {
    expect(recordAsJson(record({ removed: true }))['value']).toBeNull();
  });
});
