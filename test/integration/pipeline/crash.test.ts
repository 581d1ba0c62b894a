import { describe, expect, it } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import { indexAgainstLog, keysPublishedTwice } from './index-check.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { startScript } from './rollcall-process.ts';

const OPTIONS = { collections: ['users'], hubSettings: { pageSize: 20 } };
const DYING_MIRROR = new URL('dying-mirror.ts', import.meta.url);

/** Kills a process at a point of its first load, and starts another one. */
async function afterKillAt(
  point: 'commit' | 'index',
  nth: number,
  attempt: (mirror: Mirror, hub: ReferenceHub) => Promise<void>,
): Promise<void> {
  // The hub is so slow that each page is a transaction of its own.
  const hub = await startTestHub({ faults: ['latency=200@users'] });
  const topicPrefix = newTopicPrefix();
  try {
    const configText = configTextOf(hub, topicPrefix, OPTIONS);
    await using child = await startScript(DYING_MIRROR, { configText, args: [point, String(nth)] });
    await child.endsWith('SIGKILL');
    hub.faults.clear();
    await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
    await attempt(mirror, hub);
  } finally {
    await hub.stop();
    await deleteTopicsOf(topicPrefix);
  }
}

function caughtUp(mirror: Mirror): unknown {
  return mirror.events.find(({ type }) => type === 'caught-up');
}

describe('kill -9', () => {
  it('between commit and index write leaves no index behind the log, and nothing is published twice', async () => {
    await afterKillAt('index', 2, async (mirror) => {
      expect(caughtUp(mirror)).toMatchObject({ collection: 'users', how: 'resumed', why: '' });
      const before = await mirror.records('users');
      expect(before.length).toBeGreaterThan(20);
      expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
      await mirror.full();
      expect((await mirror.records('users')).length).toBeGreaterThan(before.length);
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
      expect(await mirror.differences()).toEqual({});
      expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
    });
  });

  it('before the very first index write causes nothing to be published twice', async () => {
    await afterKillAt('index', 1, async (mirror) => {
      expect(await mirror.records('users')).not.toEqual([]);
      expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
      await mirror.full();
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
      expect(await mirror.differences()).toEqual({});
    });
  });

  it('between send and commit shows no consumer the sent records, and none of them is lost', async () => {
    await afterKillAt('commit', 3, async (mirror) => {
      expect(caughtUp(mirror)).toMatchObject({ collection: 'users', how: 'current', why: '' });
      const before = await mirror.records('users');
      expect(before.length).toBeGreaterThan(0);
      expect(await indexAgainstLog(mirror, 'users')).toEqual([]);
      await mirror.full();
      expect((await mirror.records('users')).length).toBeGreaterThan(before.length);
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
      expect(await mirror.differences()).toEqual({});
    });
  });

  it('during take-over does not keep the next process from taking over', async () => {
    await afterKillAt('commit', 1, async (mirror) => {
      expect(await mirror.records('users')).toEqual([]);
      await mirror.full();
      expect(await keysPublishedTwice(mirror, 'users')).toEqual([]);
      expect(await mirror.differences()).toEqual({});
    });
  });
});
