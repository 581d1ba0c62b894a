import { expect, it } from 'vitest';
import { changeHeaders } from '../../../src/core/cloud-events.ts';

const CHANGE = {
  tenantId: 'north',
  topic: 'absence-versions',
  id: 'abc-1',
  kind: 'updated',
  modifiedAtMs: Date.parse('2026-03-04T03:00:00.120Z'),
  hash: Buffer.from('000102030405060708090a0b0c0d0eff', 'hex'),
} as const;

it('the headers of a change are exactly those of the contract', () => {
  expect(changeHeaders(CHANGE)).toEqual({
    ce_specversion: '1.0',
    ce_source: '/rollcall/north/absence-versions',
    ce_id: 'abc-1',
    ce_type: 'rollcall.absence-versions.updated',
    ce_time: '2026-03-04T03:00:00.120Z',
    'content-type': 'application/avro',
    'content-hash': '000102030405060708090a0b0c0d0eff',
  });
});

it('the headers of a removal have no hash, and a row without a modification time has no time', () => {
  const headers = changeHeaders({ ...CHANGE, kind: 'deleted', modifiedAtMs: null, hash: null });
  expect(headers).not.toHaveProperty('content-hash');
  expect(headers).not.toHaveProperty('ce_time');
  expect(headers['ce_type']).toBe('rollcall.absence-versions.deleted');
});
