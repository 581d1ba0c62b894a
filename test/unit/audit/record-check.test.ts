import { expect, it } from 'vitest';
import { RecordCheck } from '../../../src/audit/record-check.ts';
import { changeHeaders } from '../../../src/core/cloud-events.ts';
import { frame } from '../log/support/frame.ts';

const READABLE = frame(7, Buffer.from([1]));
const OF_OTHER_SCHEMA = frame(7, Buffer.from([2]));

it('verify decodes a record even after a hundred records of its schema id could not be decoded', async () => {
  const check = new RecordCheck({
    tenantId: 't',
    collections: [],
    schedules: undefined,
    decode: (framed) => Promise.resolve(framed.equals(READABLE) ? {} : null),
  });
  const change = { tenantId: 't', id: 'tx-0', modifiedAtMs: null, hash: null } as const;
  const headers = changeHeaders({ ...change, topic: 'users', kind: 'updated' });
  const at = { topic: 'users', partition: 0, offset: 0, key: 'a', mapping: null } as const;
  const isSound = async (value: Buffer): Promise<boolean> =>
    (await check.check({ ...at, value, hash: Buffer.alloc(16), headers: () => headers })).isSound;
  for (let older = 0; older < 100; older += 1) expect(await isSound(OF_OTHER_SCHEMA)).toBe(false);
  expect(await isSound(READABLE)).toBe(true);
});
