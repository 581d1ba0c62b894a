import { describe, expect, it, vi } from 'vitest';
import { REPUBLISH } from '../../../src/owner/republish.ts';
import { loggedChanges } from '../support/chain-oracle.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { only } from '../support/only.ts';
import { copyRedis } from './redis-copy.ts';
import type { TopicRecord } from '../support/topic-reader.ts';

const OPTIONS: MirrorOptions = {
  collections: only({ 'absence-versions': {}, absences: {}, 'absence-changes': {} }),
  hubOptions: { students: 12 },
  settings: {
    deletions: { withholdAbove: { rows: 10_000, ratio: 1 } },
    pseudonymise: { key: 'a key of sixteen or more' },
  },
};
const MASKED = only({
  'absence-versions': { pseudonymise: ['student'], drop: ['school'] },
  absences: {},
  'absence-changes': {},
});

const NO_PASSES = {
  sync: () => Promise.reject(new Error('no sync is wanted')),
  report: () => Promise.resolve(),
};

/** The same tenant, in a process that was started with another configuration. */
function restartWith(mirror: Mirror, options: Partial<MirrorOptions>): Promise<Mirror> {
  return openMirror({ ...OPTIONS, hub: mirror.hub, topicPrefix: mirror.topicPrefix, ...options });
}

/** Two chains of two versions: of one both versions are to leave the hub, of the other only the tail. */
function chainsToLeave({ hub: { district } }: Mirror): { whole: string; tail: string } {
  const [one = '', other = ''] = district.ids('students');
  const register = (student: string): string =>
    district.registerAbsence({
      student,
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '2026-03-10T09:00:00Z',
    });
  const whole = register(one);
  district.replaceAbsence(whole, { changes: { toTime: '2026-03-10T10:00:00Z' } });
  const first = register(other);
  const tail = district.replaceAbsence(first, { changes: { toTime: '2026-03-10T10:00:00Z' } });
  return { whole, tail };
}

/** Every id of a student of the hub that occurs anywhere in these records. */
function rawStudentsIn(mirror: Mirror, records: readonly TopicRecord[]): string[] {
  const students = new Set(mirror.hub.district.ids('students'));
  return records.flatMap(({ topic, key, value }) => {
    const text = JSON.stringify(value);
    return [...students].filter((id) => text.includes(id)).map((id) => `${topic} ${key} ${id}`);
  });
}

function fieldsOf(records: readonly TopicRecord[], field: string): unknown[] {
  return records.flatMap(({ value }) => {
    const versions =
      value?.['version'] === undefined ? [value] : [value['version'], value['previousVersion']];
    return versions.flatMap((version) => (version as Record<string, unknown> | null)?.[field] ?? []);
  });
}

describe('a changed mapping', () => {
  it('applies to values read back from the log: no field that it drops or pseudonymises is published', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { whole, tail } = chainsToLeave(mirror);
    await mirror.full();
    mirror.hub.district.purgeAbsence(whole);
    mirror.hub.district.remove('absence-versions', tail);
    const ends = await mirror.ends();
    await using masked = await restartWith(mirror, { collections: MASKED });
    await masked.full();
    const published = await mirror.since(ends);
    const events = published.filter(
      ({ topic, value }) => topic.endsWith('.absence-changes') && value !== null,
    );
    expect(loggedChanges(events)).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ absenceId: whole, operation: 'DELETED', cause: 'VANISHED' }),
        expect.objectContaining({ versionId: tail, operation: 'DELETED', cause: 'VANISHED' }),
      ]) as never,
    );
    expect(rawStudentsIn(mirror, published)).toEqual([]);
    expect(fieldsOf(published, 'school')).toEqual([]);
    // The events have more than the ids of the versions.
    expect(fieldsOf(events, 'student').length).toBe(2);
  });

  it('publishes no step and changes no absence id, in whatever order the rows of a chain come', async () => {
    await using mirror = await openMirror({ ...OPTIONS, hubSettings: { pageSize: 3 } });
    const { tail } = chainsToLeave(mirror);
    await mirror.full();
    const ends = await mirror.ends();
    const key = { key: 'another key of sixteen or more' };
    for (const [collections, pseudonymise] of [
      [MASKED, OPTIONS.settings?.['pseudonymise']],
      [MASKED, key],
      [OPTIONS.collections, key],
    ] as const) {
      const settings = { ...OPTIONS.settings, pseudonymise };
      await using masked = await restartWith(mirror, { collections, settings, hubSettings: { pageSize: 3 } });
      await masked.full();
      await masked.full();
    }
    const published = await mirror.since(ends);
    expect(published.filter(({ topic }) => topic.endsWith('.absence-changes'))).toEqual([]);
    await using plain = await restartWith(mirror, { collections: OPTIONS.collections });
    mirror.hub.district.replaceAbsence(tail, { changes: { toTime: '2026-03-10T11:00:00Z' } });
    await plain.delta();
    const events = loggedChanges(await plain.records('absence-changes'));
    expect(events.filter(({ previousId }) => previousId === tail)).toMatchObject([
      { step: 3, operation: 'REPLACED', cause: 'HUB' },
    ]);
  });

  it('takes effect by one full sync at the start', async () => {
    const options = { ...OPTIONS, hubOptions: { students: 12, startMs: Date.now() } };
    await using mirror = await openMirror(options);
    await mirror.full();
    const firstSyncs: string[] = [];
    for (const collections of [
      OPTIONS.collections,
      MASKED,
      MASKED,
      OPTIONS.collections,
      OPTIONS.collections,
    ]) {
      await using restarted = await restartWith(mirror, { collections });
      const ending = new AbortController();
      const loop = restarted.session.runners
        .get('absence-versions')
        ?.loop(ending.signal)
        .catch(() => undefined);
      const mode = await vi.waitFor(
        () => {
          const ended = restarted.events.find(({ type }) => type === 'sync-ended');
          if (ended?.type !== 'sync-ended') throw new Error('no sync has ended yet');
          return ended.stats.mode;
        },
        { timeout: 30_000 },
      );
      firstSyncs.push(mode);
      ending.abort();
      await loop;
    }
    expect(firstSyncs).toEqual(['INCREMENTAL', 'FULL', 'INCREMENTAL', 'FULL', 'INCREMENTAL']);
  });

  it('keeps earlier events until they are republished: the same step again, under the mapping, as a snapshot', async () => {
    await using mirror = await openMirror(OPTIONS);
    const { tail } = chainsToLeave(mirror);
    await mirror.full();
    await using masked = await restartWith(mirror, { collections: MASKED });
    await masked.full();
    const before = await masked.view('absence-changes');
    expect(rawStudentsIn(mirror, [...before.values()])).not.toEqual([]);
    const { parts, session } = masked;
    const { signal } = new AbortController();
    const ends = await masked.ends();
    const republished = await REPUBLISH.handle(
      { collection: 'absence-changes', keys: [] },
      { tenant: parts, ...session, ...NO_PASSES, signal },
    );
    expect(republished).toMatchObject({ published: before.size, missing: [] });
    expect((await masked.since(ends)).map(({ key }) => key).toSorted()).toEqual(
      [...before.keys()].toSorted(),
    );
    const after = await masked.view('absence-changes');
    expect(rawStudentsIn(mirror, [...after.values()])).toEqual([]);
    expect(fieldsOf([...after.values()], 'school')).toEqual([]);
    for (const [key, { value, headers }] of after) {
      const { value: earlier = null, headers: its = {} } = before.get(key) ?? {};
      expect(value).toMatchObject({
        step: earlier?.['step'],
        operation: earlier?.['operation'],
        snapshot: true,
      });
      expect(headers['ce_id']).not.toBe(its['ce_id']);
    }
    // Neither the index nor a rebuilt one needs anything of the redaction.
    const redacted = await masked.ends();
    await (await copyRedis(masked)).flush();
    await masked.restart();
    await masked.full();
    expect(await masked.since(redacted)).toEqual([]);
    mirror.hub.district.replaceAbsence(tail, { changes: { toTime: '2026-03-10T11:00:00Z' } });
    await masked.delta();
    const events = loggedChanges(await masked.records('absence-changes'));
    expect(events.filter(({ previousId }) => previousId === tail)).toMatchObject([
      { step: 3, snapshot: false },
    ]);
  });
});
