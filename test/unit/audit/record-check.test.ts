import { expect, it } from 'vitest';
import { checkRecord } from '../../../src/audit/record-check.ts';
import { frame } from '../log/support/frame.ts';

const READABLE = frame(7, Buffer.from([1]));
const OF_OTHER_SCHEMA = frame(7, Buffer.from([2]));

it('verify decodes a record even after a hundred records of its schema id could not be decoded', async () => {
  const decode = (framed: Buffer) => Promise.resolve(framed.equals(READABLE) ? {} : null);
  const tenant = { collections: [], schedules: undefined, decode };
  const isSound = async (value: Buffer): Promise<boolean> =>
    (await checkRecord(tenant, { topic: 'users', value, hash: Buffer.alloc(16) })).isSound;
  for (let older = 0; older < 100; older += 1) expect(await isSound(OF_OTHER_SCHEMA)).toBe(false);
  expect(await isSound(READABLE)).toBe(true);
});
