import { describe, expect, it } from 'vitest';
import { frame } from '../../../src/log/framing.ts';
import { loggedChanges, type LoggedChange } from '../support/chain-oracle.ts';
import { openMirror, type Mirror, type MirrorOptions } from '../support/mirror.ts';
import { plainKafka } from './kafka-admin.ts';
import { deleteTopic } from './recreate-topic.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const OPTIONS: MirrorOptions = {
  collections: COLLECTIONS,
  hubOptions: { students: 12 },
};

function register(mirror: Mirror): string {
  const { district } = mirror.hub;
  return district.registerAbsence({
    student: district.ids('students')[0] ?? '',
    fromTime: '2026-03-10T08:00:00Z',
    toTime: '2026-03-10T09:00:00Z',
  });
}

async function changesOf(mirror: Mirror, absenceId: string): Promise<LoggedChange[]> {
  const all = loggedChanges(await mirror.records('absence-changes'));
  return all.filter((change) => change.absenceId === absenceId);
}

/** `headers`: those that the records had, or none, as in records of another program. */
async function makeUnreadable(
  mirror: Mirror,
  keys: readonly string[],
  headers: 'kept' | 'none',
): Promise<void> {
  const kept = await mirror.view('progress');
  const value = frame(2_000_000_000, Buffer.from('nothing that Rollcall wrote'));
  const messages = keys.map((key) => ({
    key,
    value,
    headers: headers === 'kept' ? (kept.get(key)?.headers ?? {}) : {},
    partition: 0,
  }));
  const producer = plainKafka().producer();
  await producer.connect();
  await producer.send({ topic: mirror.topic('progress'), messages });
  await producer.disconnect();
}

describe('when the progress of the absences is lost after their first load', () => {
  it.each(['kept', 'none'] as const)(
    'the next full sync publishes changes as news, although no record of progress can be read (headers: %s)',
    async (headers) => {
      await using mirror = await openMirror(OPTIONS);
      await mirror.full();
      const ends = await mirror.ends();
      await makeUnreadable(mirror, COLLECTIONS, headers);
      const id = register(mirror);
      await mirror.restart();
      await mirror.full();
      expect(await changesOf(mirror, id)).toMatchObject([{ operation: 'CREATED', snapshot: false }]);
      expect((await mirror.since(ends)).map(({ key }) => key)).toEqual([id, id, id]);
    },
  );

  it('changes are published as news even if the process ends before its first full sync is over', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    await makeUnreadable(mirror, ['absence-changes'], 'kept');
    const first = register(mirror);
    await mirror.restart();
    mirror.hub.faults.set('missing-list@absences');
    await mirror.attempt('FULL');
    mirror.hub.faults.clear();
    await mirror.restart();
    const second = register(mirror);
    await mirror.full();
    expect(await changesOf(mirror, first)).toMatchObject([{ operation: 'CREATED', snapshot: false }]);
    expect(await changesOf(mirror, second)).toMatchObject([{ operation: 'CREATED', snapshot: false }]);
  });

  it('changes are published as news even without the topic of progress, if an earlier event was news', async () => {
    await using mirror = await openMirror(OPTIONS);
    await mirror.full();
    const before = register(mirror);
    await mirror.delta();
    expect(await changesOf(mirror, before)).toMatchObject([{ snapshot: false }]);
    await deleteTopic(mirror.topic('progress'));
    const id = register(mirror);
    await mirror.restart();
    await mirror.full();
    expect(await changesOf(mirror, id)).toMatchObject([{ operation: 'CREATED', snapshot: false }]);
  });
});
