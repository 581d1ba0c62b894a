import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();

it('the work of several holders of a lock never overlaps, whether it fails, or an owner was killed', async () => {
  const lock = join(folder(), 'lock');
  await writeFile(lock, String(spawnSync('true').pid));
  let [inside, most, done] = [0, 0, 0];
  const work = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await sleep(5);
    inside -= 1;
    done += 1;
    throw new Error('no');
  };
  const holders = Array.from({ length: 8 }, () => withPidLock(lock, work, { pollIntervalMs: 1 }));
  const outcomes = await Promise.allSettled(holders);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  expect([most, done, existsSync(lock)]).toEqual([1, 8, false]);
});
