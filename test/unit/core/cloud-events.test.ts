import { expect, it } from 'vitest';
import { changeHeaders } from '../../../src/core/cloud-events.ts';

it('the headers of a change are exactly those of the contract', () => {
  const [id, topic] = ['abc-1', 'absence-versions'] as const;
  const modifiedAtMs = Date.parse('2026-03-04T03:00:00.120Z');
  const hash = Buffer.from('000102030405060708090a0b0c0d0eff', 'hex');
  const always = {
    ce_specversion: '1.0',
    ce_source: '/rollcall/north/absence-versions',
    ce_id: 'abc-1',
    'content-type': 'application/avro',
  };
  const of = { tenantId: 'north', topic, id };
  expect(changeHeaders({ ...of, kind: 'updated', modifiedAtMs, hash })).toEqual({
    ...always,
    ce_type: 'rollcall.absence-versions.updated',
    ce_time: '2026-03-04T03:00:00.120Z',
    'content-hash': '000102030405060708090a0b0c0d0eff',
  });
  expect(changeHeaders({ ...of, kind: 'deleted', modifiedAtMs: null, hash: null })).toEqual({
    ...always,
    ce_type: 'rollcall.absence-versions.deleted',
  });
});
