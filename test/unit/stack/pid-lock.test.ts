import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { withPidLock } from '../../../scripts/pid-lock.mjs';
import { temporaryFolder } from './temporary-folder.ts';

const folder = temporaryFolder();

describe('withPidLock', () => {
  it('the work of several holders never overlaps', async () => {
    const lock = join(folder(), 'lock');
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await sleep(5);
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 8 }, () => withPidLock(lock, work, { pollIntervalMs: 1 })));
    expect(most).toBe(1);
    expect(existsSync(lock)).toBe(false);
  });

  it('a lock whose owner was killed is free', async () => {
    const lock = join(folder(), 'lock');
    const gone = spawnSync('true').pid;
    await writeFile(lock, String(gone));
    let waits = 0;
    expect(await withPidLock(lock, async () => 'done', { onWait: () => (waits += 1) })).toBe('done');
    expect(waits).toBe(0);
  });

  it('work that fails releases the lock', async () => {
    const lock = join(folder(), 'lock');
    await expect(withPidLock(lock, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(existsSync(lock)).toBe(false);
  });
});
