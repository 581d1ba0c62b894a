import { beforeAll, expect, it } from 'vitest';
import { doubledRecords } from '../../oracle/rows.ts';
import { openMirror, type Mirror } from '../support/mirror.ts';
import { startProcess } from '../support/running.ts';
import { buildJava, buildPython } from './example-process.ts';
import { Reactor, Reactors } from './reactor.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const LENIENT = { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } };
const MINUTE_MS = 60_000;

beforeAll(async () => {
  await buildPython();
  await buildJava('java');
}, 600_000);

/** Lets a minute pass at the hub in which much changes, and publishes that. */
async function liveOn(mirror: Mirror): Promise<void> {
  mirror.hub.clock.advance(MINUTE_MS);
  mirror.hub.living.step(40);
  await mirror.incremental();
}

/** Expects one reaction to each event that is news, in the order of its absence, and no other reaction. */
async function expectEachOnce(
  mirror: Mirror,
  reactor: Reactor,
  { startedAtMs = 0, reactionsBefore = 0 } = {},
): Promise<number> {
  const records = await mirror.records('absence-changes');
  expect(doubledRecords(records)).toEqual([]);
  const events = records.filter(
    ({ value, publishedAtMs }) =>
      value !== null && value['snapshot'] === false && publishedAtMs >= startedAtMs,
  );
  const wanted = Map.groupBy(events, ({ key }) => key);
  const found = Map.groupBy(reactor.reactions().slice(reactionsBefore), ({ absenceId }) => absenceId);
  const reactions = Object.fromEntries([...found].map(([key, all]) => [key, all.map(({ ceId }) => ceId)]));
  expect([reactor.language, reactions]).toEqual([
    reactor.language,
    Object.fromEntries([...wanted].map(([key, all]) => [key, all.map(({ headers }) => headers['ce_id'])])),
  ]);
  return events.length;
}

it('the example react-once.ts reacts to each operation and cause as docs/consuming.md advises', async () => {
  await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
  const { district, clock } = mirror.hub;
  await using reactor = new Reactor(mirror, 'TypeScript');
  const tick = async (sync: () => Promise<unknown> = () => mirror.incremental()): Promise<void> => {
    clock.advance(MINUTE_MS);
    await sync();
  };
  const student = district.ids('students')[0] ?? '';
  const register = (toTime = '2026-03-10T09:00:00Z'): string =>
    district.registerAbsence({ student, fromTime: '2026-03-10T08:00:00Z', toTime });
  await mirror.full();
  register();
  await tick();
  const startedAtMs = Date.now();
  reactor.start();
  await reactor.readAll();
  expect(reactor.reactions()).toEqual([]);

  const longer = { changes: { toTime: '2026-03-10T10:00:00Z' } };

  const ordinary = register();
  await tick();
  const corrected = district.replaceAbsence(ordinary, longer);
  const same = district.replaceAbsence(corrected, { changes: { status: 'active' } });
  await tick();
  district.deleteAbsence(same);
  await tick();
  district.patch('absences', same, { deletedTime: '' });
  await tick();

  const [purged, tail, rest] = [register(), register(), register()];
  // Of two published absences, the one that a version of the other replaces ends in it.
  await tick();
  const lost = district.replaceAbsence(tail, longer);
  const other = register('2026-03-10T11:00:00Z');
  await tick();
  const record = district.get('absences', purged) ?? {};
  district.purgeAbsence(purged);
  district.remove('absences', lost);
  district.patch('absences', other, { replaces: { sourcedId: rest, type: 'absence' } });
  await tick(() => mirror.full());
  await tick(() => mirror.full());
  district.put('absences', record);
  await tick();

  await reactor.readAll();
  // Created, replaced with other times, replaced with the same times, deleted, restored.
  expect(reactor.actionsOn(ordinary)).toEqual(['tell', 'correct', 'nothing', 'withdraw', 'tell']);
  // Created, the whole chain vanished, back under the same id as a new absence.
  expect(reactor.actionsOn(purged)).toEqual(['tell', 'ask', 'nothing']);
  // Created, replaced, the tail vanished.
  expect(reactor.actionsOn(tail)).toEqual(['tell', 'correct', 'ask']);
  // One absence that continues as another.
  expect(reactor.actionsOn(rest)).toEqual(['tell', 'nothing']);
  expect(reactor.actionsOn(other)).toEqual(['tell']);
  expect(await expectEachOnce(mirror, reactor, { startedAtMs })).toBe(14);
});

it('each react-once example reacts exactly once to each event, although it fails and is killed', async () => {
  await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
  const { district, clock } = mirror.hub;
  await using reactors = new Reactors(mirror);
  const { each } = reactors;
  await each(async (reactor) => {
    reactor.start();
    await reactor.begun();
  });
  await mirror.full();
  await each(async (reactor) => {
    await reactor.readAll();
    expect(reactor.reactions()).toEqual([]);
    reactor.breakBetween();
  });
  await liveOn(mirror);
  await each(async (reactor) => {
    await reactor.broke();
    await reactor.process.stop('SIGKILL');
    expect(reactor.reactions()).toEqual([]);
    reactor.mend();
    reactor.start();
    await reactor.readAll();
    await expectEachOnce(mirror, reactor);
  });
  // The counts come before any change, as a program may handle all changes as soon as they are published.
  const amid = each(async (reactor) => {
    const before = reactor.reactions().length;
    await reactor.process.until('it was amid the changes', () => reactor.reactions().length > before);
    await reactor.process.stop('SIGKILL');
  });
  await liveOn(mirror);
  await liveOn(mirror);
  await amid;
  await each(async (reactor) => reactor.start());
  clock.advance(MINUTE_MS);
  const absenceId = district.registerAbsence({
    student: district.ids('students')[0] ?? '',
    fromTime: '2026-03-10T08:00:00Z',
    toTime: '9999-12-31T23:59:59.999Z',
  });
  const noTime = '0001-01-01T00:00:00+01:00';
  district.patch('absences', absenceId, { deletedTime: noTime, dateLastModified: noTime }, { stamp: false });
  await mirror.full();
  const counts = await each(async (reactor) => {
    await reactor.readAll();
    expect(reactor.actionsOn(absenceId)).toEqual(['tell']);
    const reactions = await expectEachOnce(mirror, reactor);
    await reactor.process.stop();
    await reactor.forgetOffsets();
    return reactions;
  });
  const reactions = counts[0] ?? 0;
  expect(reactions).toBeGreaterThan(30);
  await liveOn(mirror);
  await each(async (reactor) => {
    const again = reactor.start();
    await reactor.readAll();
    expect(await expectEachOnce(mirror, reactor)).toBeGreaterThan(reactions);
    // The reactions of this run are new, too.
    const said = again.lines().map((line) => line.split(' ').at(-1));
    expect([new Set(said).size, said.length < reactions]).toEqual([said.length, true]);
  });
});

it('each react-once example notices a recreated topic, and reacts once to each event of the new topic', async () => {
  await using mirror = await openMirror({ collections: COLLECTIONS, settings: LENIENT });
  await using reactors = new Reactors(mirror);
  const { each } = reactors;
  const recreate = async (): Promise<void> => {
    await mirror.close();
    const words = ['topics', 'recreate', 'absence-versions', '--tenant', 'north', '--yes'];
    await startProcess(mirror.configText, ...words).endsWith(0);
    await mirror.open();
    await mirror.full();
  };
  const life = async () => (await mirror.view('progress')).get('absence-changes')?.value?.['lifeId'];
  await mirror.full();
  await each(async (reactor) => {
    reactor.start();
    await reactor.begun();
  });
  await liveOn(mirror);
  await each(async (reactor) => {
    await reactor.readAll();
    await expectEachOnce(mirror, reactor);
    await reactor.process.stop();
  });

  // The new topic is longer than the old one was, so that no position is beyond its end.
  await recreate();
  for (let times = 0; times < 3; times += 1) await liveOn(mirror);
  const newLife = await life();
  await each(async (reactor) => {
    const reactionsBefore = reactor.reactions().length;
    const started = reactor.start();
    await started.until('it had begun the new life', () => reactor.life() === newLife);
    await reactor.readAll();
    expect(await expectEachOnce(mirror, reactor, { reactionsBefore })).toBeGreaterThan(30);
  });

  await Promise.all([recreate(), each((reactor) => reactor.process.endsWith(1))]);
});
