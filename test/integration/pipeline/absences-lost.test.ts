import { describe, expect, it } from 'vitest';
import { REBUILD } from '../../../src/owner/rebuild.ts';
import { chainProblems, loggedChanges } from '../support/chain-oracle.ts';
import type { TopicRecord } from '../support/read-topics.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { recreateTopic } from './recreate-topic.ts';
import { copyRedis } from './redis-copy.ts';

const OPTIONS: MirrorOptions = {
  collections: ['orgs', 'absence-versions', 'absences', 'absence-changes'],
  hubOptions: { students: 12 },
};

/** Waits for the markers of the last transaction first: Kafka would wait for those of a deleted topic. */
async function lose(mirror: Mirror, ...suffixes: string[]): Promise<void> {
  await mirror.ends();
  for (const suffix of suffixes) await recreateTopic(mirror.topic(suffix));
}

async function flushRedis(mirror: Mirror): Promise<void> {
  await (await copyRedis(mirror)).flush();
}

/** Error codes of a full sync, by collection. */
async function failuresOf(mirror: Mirror): Promise<Record<string, unknown>> {
  const outcomes = await mirror.attempt('FULL');
  return Object.fromEntries(
    outcomes.map(({ collection, error }) => [collection, (error as { code?: string } | null)?.code ?? null]),
  );
}

async function beginAnew({ parts, session }: Mirror): Promise<void> {
  const { signal } = new AbortController();
  await REBUILD.handle(
    { collections: ['absence-versions'], anew: true },
    {
      tenant: parts,
      ...session,
      signal,
      report: () => Promise.resolve(),
      sync: async (name, mode, options) => {
        const runner = session.runners.get(name);
        if (runner === undefined) throw new Error(`${name} is not mirrored`);
        return runner.once(mode, { ...options, signal });
      },
    },
  );
}

/** Of the present lives of the keys. */
async function problemsOf(mirror: Mirror): Promise<string[]> {
  const [absences, changes] = [await mirror.records('absences'), await mirror.records('absence-changes')];
  return chainProblems({ hub: mirror.hub, absences, changes: sinceLastNull(changes) });
}

function sinceLastNull(records: readonly TopicRecord[]): TopicRecord[] {
  const last = new Map(records.flatMap(({ key, value }, at) => (value === null ? [[key, at] as const] : [])));
  return records.filter(({ key }, at) => at > (last.get(key) ?? -1));
}

const LOST = { orgs: null, 'absence-versions': 'ABSENCES_LOST' };

describe('lost absences', () => {
  it.each([
    ['absences', ['absences'], false],
    ['absence-changes', ['absence-changes'], false],
    ['absence-state and Redis', ['absence-state'], true],
  ] as const)(
    'a loss of %s needs a decision at each start, and the other collections go on',
    async (_name, topics, flushes) => {
      await using mirror = await openMirror(OPTIONS);
      await mirror.full();
      if (flushes) await flushRedis(mirror);
      await lose(mirror, ...topics);
      const ends = await mirror.ends();
      for (let start = 1; start <= 2; start += 1) {
        await mirror.restart();
        expect(await failuresOf(mirror)).toEqual(LOST);
      }
      expect(await mirror.since(ends)).toEqual([]);
    },
  );

  it('begin anew like a first load, after which changes are news', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const published = loggedChanges(await mirror.records('absence-changes'));
    await lose(mirror, 'absences');
    await mirror.restart();
    expect(await failuresOf(mirror)).toEqual(LOST);
    await beginAnew(mirror);
    expect(await problemsOf(mirror)).toEqual([]);
    const again = loggedChanges(await mirror.records('absence-changes')).slice(published.length);
    expect(again.filter(({ snapshot }) => !snapshot)).toEqual([]);
    expect(again.length).toBeGreaterThan(20);
    const { district } = mirror.hub;
    const id = district.registerAbsence({
      student: String(district.ids('students')[0]),
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '2026-03-10T09:00:00Z',
    });
    await mirror.delta();
    await mirror.restart();
    const ends = await mirror.ends();
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
    const news = loggedChanges(await mirror.records('absence-changes')).filter(
      ({ absenceId }) => absenceId === id,
    );
    expect(news).toMatchObject([{ step: 1, operation: 'CREATED', snapshot: false }]);
  });

  it('are no matter of a decision where all their topics are recreated together: they begin with a first load', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const published = loggedChanges(await mirror.records('absence-changes'));
    await lose(mirror, 'absence-versions', 'absences', 'absence-changes', 'absence-state');
    await mirror.restart();
    expect(await failuresOf(mirror)).toEqual({ orgs: null, 'absence-versions': null });
    expect(await problemsOf(mirror)).toEqual([]);
    const again = loggedChanges(await mirror.records('absence-changes'));
    expect(again.filter(({ snapshot }) => !snapshot)).toEqual([]);
    expect(again.length).toBe(published.length);
    await mirror.restart();
    const ends = await mirror.ends();
    expect(await failuresOf(mirror)).toEqual({ orgs: null, 'absence-versions': null });
    expect(await mirror.since(ends)).toEqual([]);
  });

  it('a lost absence-state is filled from a current Redis, and is copied afterwards', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await lose(mirror, 'absence-state');
    const ends = await mirror.ends();
    await mirror.restart();
    await mirror.full();
    await flushRedis(mirror);
    await mirror.restart();
    expect(await failuresOf(mirror)).toEqual({ orgs: null, 'absence-versions': null });
    expect(await mirror.since(ends)).toEqual([]);
  });

  it('are not taken for lost where absences are switched off for some time, and on again', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const { hub, topicPrefix } = mirror;
    const { district } = hub;
    await mirror.restart();
    const student = String(district.ids('students')[0]);
    const times = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T09:00:00Z' };
    const gone = district.registerAbsence({ student, ...times });
    await mirror.delta();
    {
      await using versions = await openMirror({
        ...OPTIONS,
        collections: ['absence-versions'],
        hub,
        topicPrefix,
      });
      district.registerAbsence({ student, ...times });
      await versions.full();
    }
    district.purgeAbsence(gone);
    await using again = await openMirror({ ...OPTIONS, hub, topicPrefix });
    await again.full();
    await again.full();
    expect(await problemsOf(again)).toEqual([]);
  });
});
