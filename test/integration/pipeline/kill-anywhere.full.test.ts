import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DERIVED_COLLECTIONS, type CollectionName } from '../../../src/model/collections.ts';
import { chainProblems, loggedChanges } from '../support/chain-oracle.ts';
import { configTextOf, newTopicPrefix, openMirror, startTestHub, type Mirror } from '../support/mirror.ts';
import type { TopicRecord } from '../support/topic-reader.ts';
import { indexAgainstLog } from './index-check.ts';
import { deleteTopicsOf } from './kafka-admin.ts';
import { flushRedis } from './redis-copy.ts';
import { startRollcall } from './rollcall-process.ts';

const ROWS: CollectionName[] = ['users', 'enrollments', 'results', 'absence-versions'];
const OPTIONS = {
  collections: [...ROWS, ...DERIVED_COLLECTIONS],
  hubSettings: { pageSize: 50 },
  tenant: { deltaEvery: '1s' },
};
const LIVES = 6;
const LONGEST_LIFE_MS = 2_500;

/** Keys of records with the same content as the record of their key before them. */
function saidAgain(records: readonly TopicRecord[]): string[] {
  const last = new Map<string, string>();
  return records.flatMap(({ key, value, headers }) => {
    const said = value === null ? 'gone' : (headers['content-hash'] ?? '');
    const isAgain = (last.get(key) ?? 'gone') === said;
    last.set(key, said);
    return isAgain ? [key] : [];
  });
}

async function expectTruth(mirror: Mirror): Promise<void> {
  expect(await mirror.differences()).toEqual({});
  for (const topic of [...ROWS, ...DERIVED_COLLECTIONS, 'progress'] as const) {
    const records = await mirror.records(topic);
    expect([topic, saidAgain(records)]).toEqual([topic, []]);
    expect([topic, new Set(records.map(({ headers }) => headers['ce_id'])).size]).toEqual([
      topic,
      records.length,
    ]);
  }
  for (const collection of ROWS) expect(await indexAgainstLog(mirror, collection)).toEqual([]);
  const absences = await mirror.records('absences');
  const changes = await mirror.records('absence-changes');
  expect(chainProblems({ hub: mirror.hub, absences, changes })).toEqual([]);
  const snapshot = new Set(loggedChanges(changes).map((change) => change.snapshot));
  expect(snapshot).toEqual(new Set([true, false]));
}

it('kill -9 at any moment, again and again while the hub changes: nothing is lost or published twice', async () => {
  const hub = await startTestHub();
  const topicPrefix = newTopicPrefix();
  try {
    const configText = configTextOf(hub, topicPrefix, OPTIONS);
    for (let life = 0; life < LIVES; life += 1) {
      await using child = await startRollcall(['run'], configText);
      await child.says(life % 2 === 0 ? '"mirroring"' : 'the tenant is owned');
      hub.living.step(30);
      // Any moment will do: the guarantees must hold whatever the process was doing.
      await delay(Math.random() * LONGEST_LIFE_MS);
      hub.living.step(30);
      child.kill('SIGKILL');
      await child.endsWith('SIGKILL');
      if (life === LIVES - 3) await flushRedis(topicPrefix);
    }
    await using mirror = await openMirror({ ...OPTIONS, hub, topicPrefix });
    await mirror.full();
    // On a slow machine no process may have got beyond the first load, whose events are snapshots.
    const [student = ''] = hub.district.ids('students');
    hub.district.registerAbsence({
      student,
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '2026-03-10T09:00:00Z',
    });
    await mirror.full();
    await expectTruth(mirror);
    const ends = await mirror.ends();
    await mirror.full();
    expect(await mirror.since(ends)).toEqual([]);
  } finally {
    await hub.stop();
    await deleteTopicsOf(topicPrefix);
  }
});
