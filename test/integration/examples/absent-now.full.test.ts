import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { newTopicPrefix, openMirror, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';
import {
  absentAtHub,
  prints,
  startTable,
  TABLE_COMMANDS,
  type AbsentNow,
  type Language,
} from './absent-table.ts';
import type { Running } from '../support/running.ts';
import { buildPython, exampleFile, startProgram } from './example-process.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const MINUTE_MS = 60_000;
const MORNING = { fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T10:00:00Z' };
/** Minutes. */
const NEVER_OLD = ['--old-after', '99999999'];
const LANGUAGES = Object.keys(TABLE_COMMANDS) as Language[];

beforeAll(buildPython, 600_000);

const tableOf = (mirror: Mirror, language: Language, ...args: string[]): Running =>
  startTable(language, `${mirror.topicPrefix}.${mirror.tenantId}`, ...args);

/** What a program prints that reads everything from the beginning. */
async function printed(mirror: Mirror, language: Language, ...args: string[]): Promise<AbsentNow> {
  await using example = tableOf(mirror, language, '--once', '--json', ...args);
  await example.endsWith(0);
  const [only, ...others] = prints(example);
  expect(others).toEqual([]);
  if (only === undefined) throw new Error(`no table was printed:\n${example.output()}`);
  return only;
}

/** When the last complete full sync of the absences began, as `progress` has it. */
async function lastFull(mirror: Mirror): Promise<string> {
  const { value } = (await mirror.view('progress')).get('absences') ?? {};
  const full = value?.['lastCompleteFull'] as { startedAt: number } | null | undefined;
  return new Date(full?.startedAt ?? 0).toISOString();
}

async function expectTable(example: Running, hub: ReferenceHub): Promise<void> {
  const wanted = JSON.stringify(absentAtHub(hub));
  const last = () => JSON.stringify(prints(example).at(-1)?.absent);
  await example.until(`its last line had ${wanted}`, () => last() === wanted);
}

/** One student stays away longer, one arrives late, and one was not absent after all. */
function liveOn({ district, clock, living }: ReferenceHub): void {
  clock.advance(MINUTE_MS);
  living.step(20);
  const student = district.ids('students')[3] ?? '';
  const absence = { student, ...MORNING };
  for (const toTime of ['2026-03-10T12:00:00Z', '2026-03-10T08:10:00Z'])
    district.replaceAbsence(district.registerAbsence(absence), { changes: { toTime } });
  district.deleteAbsence(district.registerAbsence(absence));
}

it('the example absent-now.ts waits for missing topics, absent_now.py ends, and both name the topics', async () => {
  const topicPrefix = newTopicPrefix();
  const topics = `${topicPrefix}.north`;
  await using inPython = startTable('Python', topics);
  // As `npm run example` starts it.
  const setup = fileURLToPath(new URL('../../../scripts/with-setup.mjs', import.meta.url));
  const args = ['--topics', topics, '--once', '--json'];
  await using example = startProgram([
    process.execPath,
    setup,
    exampleFile('absent-now/absent-now.ts'),
    ...args,
  ]);
  await example.says('Waiting for');
  expect(example.output().trim()).toBe(
    `Waiting for ${topics}.absences and ${topics}.progress: "rollcall run" creates them.`,
  );
  await inPython.endsWith(1);
  expect(inPython.output().trim()).toMatch(
    new RegExp(`^${topics}.progress does not exist: .*start Rollcall`),
  );
  await using mirror = await openMirror({ collections: COLLECTIONS, topicPrefix });
  await mirror.full();
  await example.endsWith(0);
  expect(prints(example)).toHaveLength(1);
  expect(example.output()).not.toMatch(/Warning|ERROR/);
});

it('each absent-now example shows no table before the first load ends, and then equals the hub', async () => {
  await using mirror = await openMirror({
    collections: COLLECTIONS,
    hubSettings: { pageSize: 50, paging: 'keyset' },
  });
  const { hub } = mirror;
  hub.faults.set('ignore-after@absence-versions');
  await mirror.attempt('FULL');
  expect((await mirror.view('absences')).size).toBeGreaterThan(10);
  await using readers = new AsyncDisposableStack();
  const examples = LANGUAGES.map((language) => readers.use(tableOf(mirror, language, '--json')));
  for (const example of examples) await example.says('has not read all absences');
  hub.faults.clear();
  const endless = hub.district.registerAbsence({
    ...MORNING,
    student: hub.district.ids('students')[0] ?? '',
    toTime: '9999-12-31T23:59:59.999Z',
  });
  await mirror.full();
  for (const example of examples) {
    await expectTable(example, hub);
    expect(prints(example)).toHaveLength(1);
  }
  for (let round = 0; round < 3; round += 1) {
    liveOn(hub);
    await mirror.incremental();
    for (const example of examples) await expectTable(example, hub);
  }
  expect(absentAtHub(hub).length).toBeGreaterThan(2);
  for (const example of examples) await example.stop('SIGKILL');
  liveOn(hub);
  await mirror.incremental();
  for (const language of LANGUAGES)
    expect((await printed(mirror, language)).absent).toEqual(absentAtHub(hub));

  const noTime = '0001-01-01T00:00:00+01:00';
  hub.district.patch(
    'absences',
    endless,
    { deletedTime: noTime, dateLastModified: noTime },
    { stamp: false },
  );
  await mirror.full();
  const shown = expect.objectContaining({ absenceId: endless, to: '9999-12-31T23:59:59.999Z' }) as object;
  for (const language of LANGUAGES) expect((await printed(mirror, language)).absent).toContainEqual(shown);
});

it('absent-now examples show a pupil who left until the removal is confirmed, and the age of the table', async () => {
  await using mirror = await openMirror({
    collections: COLLECTIONS,
    settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
  });
  const { district, clock } = mirror.hub;
  const [leaver = '', other = ''] = district.ids('students');
  district.registerAbsence({ student: leaver, ...MORNING });
  await mirror.full();
  const firstFull = await lastFull(mirror);
  const ofLeaver = expect.objectContaining({ student: leaver }) as object;
  const firsts = new Map<Language, AbsentNow>();
  for (const language of LANGUAGES) {
    const first = await printed(mirror, language, ...NEVER_OLD);
    expect(first).toMatchObject({ old: false, completeAsOf: firstFull });
    expect(first.absent).toContainEqual(ofLeaver);
    firsts.set(language, first);
  }
  const isLeavers = (row: object): boolean =>
    (row as { student?: { sourcedId?: string } }).student?.sourcedId === leaver;
  for (const row of district.snapshot('absence-versions').filter(isLeavers))
    district.remove('absences', idOf(row));
  clock.advance(180 * MINUTE_MS);
  district.registerAbsence({ student: other, ...MORNING });
  await mirror.incremental();
  for (const [language, first] of firsts) {
    const later = await printed(mirror, language, ...NEVER_OLD);
    expect(later.absent).toHaveLength(first.absent.length + 1);
    expect(later.absent).toEqual(expect.arrayContaining([...first.absent]));
    expect(later.completeAsOf).toBe(firstFull);
    expect(Date.parse(later.watermark ?? '')).toBeGreaterThan(Date.parse(first.watermark ?? ''));
    // By the clock of this machine the hub's day is long over.
    await using forPeople = tableOf(mirror, language, '--once');
    await forPeople.endsWith(0);
    expect(forPeople.output()).toMatch(
      new RegExp(`No absence is missing that the hub had at ${firstFull}\\. [^]*for a day or two[^]*OLD: `),
    );
  }
  // The first full sync to miss a record counts as complete, and leaves it.
  await mirror.fullUnconfirmed();
  const secondFull = await lastFull(mirror);
  expect(secondFull).not.toBe(firstFull);
  for (const language of LANGUAGES) {
    const missed = await printed(mirror, language, ...NEVER_OLD);
    expect(missed).toMatchObject({ completeAsOf: secondFull, absent: expect.arrayContaining([ofLeaver]) });
  }
  await mirror.full();
  for (const language of LANGUAGES) {
    const last = await printed(mirror, language);
    expect(last).toMatchObject({
      old: true,
      absent: absentAtHub(mirror.hub),
      completeAsOf: await lastFull(mirror),
    });
    expect(last.absent).not.toContainEqual(ofLeaver);
  }
});
