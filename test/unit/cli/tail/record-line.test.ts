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

const plain = { colors, values: false, showTopic: false };

describe('a line of tail', () => {
  it('shows nothing of a row but its key', () => {
    expect(recordLine(record(), plain)).toBe('14:02:11  2@118     created  u-1');
  });

  it('shows the value only when asked', () => {
    expect(recordLine(record(), { ...plain, values: true })).toMatch(/u-1 {2}\{"givenName":"Oppdikta"\}$/);
  });

  it('of a removal says so, and shows no value', () => {
    const removal = record({ removed: true, headers: { ce_type: 'rollcall.users.deleted' } });
    expect(recordLine(removal, { ...plain, values: true })).toBe('14:02:11  2@118     deleted  u-1');
  });

  it('of a record without headers is judged by its value', () => {
    expect(recordLine(record({ headers: {} }), plain)).toContain('updated');
    expect(recordLine(record({ headers: {}, removed: true }), plain)).toContain('deleted');
  });

  it('names the topic when there are several', () => {
    expect(recordLine(record(), { ...plain, showTopic: true })).toContain('rollcall.north.users');
  });

  it('cannot steer a terminal by a key', () => {
    const line = recordLine(record({ key: 'a\u001B[2J\nb' }), plain);
    // oxlint-disable-next-line no-control-regex -- that is what must not be there
    expect(line).not.toMatch(/[\u0000-\u001F]/);
  });

  it('of progress tells how far the pass is', () => {
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
      /users {2}#7 FULL under way: seen 3, published 2, removed 1, rejected 0, withheld 51$/,
    );
  });

  it('of rejects tells the reason but not the row', () => {
    const value = { collection: 'users', reason: 'fromTime cannot be read', row: '{"givenName":"Oppdikta"}' };
    const line = recordLine(record({ suffix: 'rejects', key: 'users|u-1', value }), plain);
    expect(line).toContain('fromTime cannot be read');
    expect(line).not.toContain('Oppdikta');
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
