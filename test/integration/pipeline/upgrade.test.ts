import { describe, expect, it } from 'vitest';
import { CHAIN_AREAS } from '../../../src/state/index-store.ts';
import { verifyTenant } from '../../../src/pipeline/verify/verify-tenant.ts';
import { startTestHub, type Mirror } from '../support/mirror.ts';
import { recreateTopic } from './recreate-topic.ts';
import { playRecording } from './play-recording.ts';
import { caughtUp, flushRedis } from './redis-copy.ts';
import { openScheduleMirror, type ScheduleMirror } from './schedule-mirror.ts';
import { changeDistrict, emptyCourses, UPGRADED } from './upgraded-district.ts';

/**
 * Made by the last version that kept no changelog, from the reference hub: two full syncs, changes, an incremental sync,
 * and two full syncs after most courses were removed. No person in it is real.
 */
const RECORDING = new URL('upgrade-recording.json.gz', import.meta.url);
const PREFIX = 'recorded';

/** The installation as the version before left it, on the hub as it was then, taken over by this version. */
async function takeOver(options: { flushed: boolean }): Promise<ScheduleMirror> {
  await playRecording(RECORDING, PREFIX);
  if (options.flushed) await flushRedis(PREFIX);
  const hub = await startTestHub(UPGRADED.hubOptions);
  changeDistrict(hub);
  emptyCourses(hub);
  const mirror = await openScheduleMirror({ ...UPGRADED, hub });
  const close = mirror[Symbol.asyncDispose].bind(mirror);
  return Object.assign(mirror, {
    async [Symbol.asyncDispose]() {
      await close();
      await hub.stop();
    },
  });
}

/** What the chain index holds, by area and key. */
async function chainIndexOf(mirror: Mirror): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const index = mirror.parts.state.collection('absence-versions');
  for (const area of CHAIN_AREAS) {
    for await (const entries of index.entries(area))
      for (const [key, value] of entries) found[`${area}/${key}`] = value.toString('hex');
  }
  return found;
}

/** Absence ids, with their last steps. */
function publishedIn(index: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(index).filter(([key]) => key.startsWith('absences/')));
}

async function expectEqual(mirror: Mirror): Promise<void> {
  const { collections } = await verifyTenant(mirror.assembly, {
    tenantId: 'north',
    collections: ['courses', 'absence-versions', 'absences', 'absence-changes', 'students'],
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  const differences = collections.flatMap((each) => each.differences);
  expect(new Set(differences.map(({ collection, state }) => `${collection} ${state}`))).toEqual(
    new Set(['courses withheld']),
  );
  expect(collections.map(({ outcome }) => outcome)).toEqual(collections.map(() => 'compared'));
}

/** A restart, and two full syncs on the same hub. */
async function expectQuietRestart(mirror: Mirror): Promise<void> {
  const before = await mirror.ends();
  await mirror.restart();
  await mirror.full();
  await mirror.full();
  expect(await mirror.since(before)).toEqual([]);
}

describe('an installation of the version without a changelog of absences', () => {
  it.each([{ flushed: false }, { flushed: true }])(
    'is taken over without publishing anything, with Redis lost: $flushed',
    { timeout: 120_000 },
    async ({ flushed }) => {
      await using mirror = await takeOver({ flushed });
      expect(caughtUp(mirror).get('absence-versions')).toBe(flushed ? 'rebuilt' : 'current');
      const before = await mirror.ends();
      await mirror.full();
      await mirror.full();
      expect(await mirror.since(before)).toEqual([]);
      await expectEqual(mirror);
      const index = await chainIndexOf(mirror);
      expect(Object.keys(index).length).toBeGreaterThan(100);
      await flushRedis(PREFIX);
      await expectQuietRestart(mirror);
      expect(caughtUp(mirror).get('absence-versions')).toBe('rebuilt');
      expect(await chainIndexOf(mirror)).toEqual(index);
    },
  );

  it(
    'loses the changelog, also together with Redis, and publishes nothing for it',
    { timeout: 120_000 },
    async () => {
      await using mirror = await takeOver({ flushed: false });
      await mirror.full();
      const index = await chainIndexOf(mirror);
      for (const flushed of [false, true]) {
        await mirror.ends();
        await recreateTopic(mirror.topic('absence-state'));
        if (flushed) await flushRedis(PREFIX);
        await expectQuietRestart(mirror);
        expect(caughtUp(mirror).get('absence-versions')).toBe(flushed ? 'rebuilt' : 'current');
        const restored = await chainIndexOf(mirror);
        expect(publishedIn(restored)).toEqual(publishedIn(index));
        await flushRedis(PREFIX);
        await mirror.restart();
        expect(await chainIndexOf(mirror)).toEqual(restored);
      }
      await expectEqual(mirror);
    },
  );
});
