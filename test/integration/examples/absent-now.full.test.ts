import { beforeAll, describe, expect, it } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { newTopicPrefix, openMirror, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';
import {
  absentAtHub,
  inPython,
  inTypeScript,
  prints,
  startTable,
  tables,
  type AbsentNow,
  type TableCommand,
} from './absent-table.ts';
import { startExample, type ExampleProcess } from './example-process.ts';
import { buildPython } from './python.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Minutes. */
const NEVER_OLD = '99999999';

function tableOf(mirror: Mirror, command: TableCommand, ...args: string[]): ExampleProcess {
  return startTable(command, `${mirror.topicPrefix}.${mirror.tenantId}`, ...args);
}

/** What a program prints that reads everything anew. */
async function printed(mirror: Mirror, command: TableCommand, ...args: string[]): Promise<AbsentNow> {
  await using example = tableOf(mirror, command, '--once', '--json', ...args);
  expect(await example.ended).toBe(0);
  const [only, ...others] = prints(example);
  expect(others).toEqual([]);
  if (only === undefined) throw new Error(`no table was printed:\n${example.said()}`);
  return only;
}

/** When the last complete full sync of the absences began, as `progress` has it. */
async function lastFull(mirror: Mirror): Promise<string> {
  const { value } = (await mirror.view('progress')).get('absences') ?? {};
  const full = value?.['lastCompleteFull'] as { startedAt: number } | null | undefined;
  return new Date(full?.startedAt ?? 0).toISOString();
}

async function expectTable(example: ExampleProcess, hub: ReferenceHub): Promise<void> {
  const expected = absentAtHub(hub);
  const wanted = JSON.stringify(expected);
  await example.until(`a last line with ${wanted}`, () => JSON.stringify(tables(example).at(-1)) === wanted);
}

/** One student stays away longer, one arrives late, and one was not absent after all. */
function liveOn(hub: ReferenceHub): void {
  const { district, clock, living } = hub;
  clock.advance(MINUTE_MS);
  living.step(20);
  const student = district.ids('students')[3] ?? '';
  const absence = { student, fromTime: '2026-03-10T08:00:00Z', toTime: '2026-03-10T10:00:00Z' };
  const stays = district.registerAbsence(absence);
  district.replaceAbsence(stays, { changes: { toTime: '2026-03-10T12:00:00Z' } });
  const comes = district.registerAbsence(absence);
  district.replaceAbsence(comes, { changes: { toTime: '2026-03-10T08:10:00Z' } });
  district.deleteAbsence(district.registerAbsence(absence));
}

describe('examples/absent-now.ts', () => {
  it('started before Rollcall, it says what it waits for, and prints nothing but its table', async () => {
    const topicPrefix = newTopicPrefix();
    await using example = startExample(
      'absent-now.ts',
      ['--topics', `${topicPrefix}.north`, '--once', '--json'],
      {
        launcher: 'npm',
      },
    );
    await example.until('what it waits for', () => example.said().includes('Waiting for'));
    expect(example.said().trim()).toBe(
      `Waiting for ${topicPrefix}.north.absences and ${topicPrefix}.north.progress: "rollcall run" creates them.`,
    );
    await using mirror = await openMirror({ collections: COLLECTIONS, topicPrefix });
    await mirror.full();
    expect(await example.ended).toBe(0);
    expect(tables(example)).toHaveLength(1);
    expect(example.said()).not.toMatch(/Warning|ERROR/);
  });
});

it('examples/python/absent_now.py, started before Rollcall, names the topic that is missing, and ends', async () => {
  await buildPython();
  const topics = `${newTopicPrefix()}.north`;
  await using example = startTable(inPython, topics);
  expect(await example.ended).toBe(1);
  expect(example.said().trim()).toMatch(new RegExp(`^${topics}.progress does not exist: .*start Rollcall`));
});

const PROGRAMS = [
  ['examples/absent-now.ts', inTypeScript],
  ['examples/python/absent_now.py', inPython],
] as const;

describe.each(PROGRAMS)('%s', (_name, command) => {
  beforeAll(buildPython, 600_000);

  it('the table is shown only once it is complete', async () => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      hubSettings: { pageSize: 50, paging: 'keyset' },
    });
    const { faults } = mirror.hub;
    faults.set('ignore-after@absence-versions');
    await mirror.attempt('FULL');
    expect((await mirror.view('absences')).size).toBeGreaterThan(10);
    await using example = tableOf(mirror, command, '--json');
    await example.until('that it waits', () => example.said().includes('has not read all absences'));
    faults.clear();
    await mirror.full();
    await example.until('a table', () => example.lines().length > 0);
    expect(tables(example)).toEqual([absentAtHub(mirror.hub)]);
  });

  it('the table equals the changing hub, also after the reader was killed', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS });
    const { hub } = mirror;
    await mirror.full();
    await using example = tableOf(mirror, command, '--json');
    await expectTable(example, hub);
    for (let round = 0; round < 3; round += 1) {
      liveOn(hub);
      await mirror.delta();
      await expectTable(example, hub);
    }
    expect(absentAtHub(hub).length).toBeGreaterThan(2);
    await example.kill('SIGKILL');
    liveOn(hub);
    await mirror.delta();
    await using next = tableOf(mirror, command, '--once', '--json');
    expect(await next.ended).toBe(0);
    expect(tables(next)).toEqual([absentAtHub(hub)]);
  });

  it('the table has an absence of a hub whose "no value" is a time of the year 0 or 1', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS });
    const { district } = mirror.hub;
    const absenceId = district.registerAbsence({
      student: district.ids('students')[0] ?? '',
      fromTime: '2026-03-10T08:00:00Z',
      toTime: '9999-12-31T23:59:59.999Z',
    });
    const noTime = '0001-01-01T00:00:00+01:00';
    district.patch(
      'absences',
      absenceId,
      { deletedTime: noTime, dateLastModified: noTime },
      { stamp: false },
    );
    await mirror.full();
    const { absent } = await printed(mirror, command);
    expect(absent).toContainEqual(expect.objectContaining({ absenceId, to: '9999-12-31T23:59:59.999Z' }));
  });

  it('a pupil who left the hub is shown until the next full sync, with the time of the last one, which is called old when it is', async () => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      settings: { deletions: { withholdAbove: { rows: 10_000, ratio: 1 } } },
    });
    const { district, clock } = mirror.hub;
    const [leaver = '', other = ''] = district.ids('students');
    const register = (student: string): string =>
      district.registerAbsence({
        student,
        fromTime: '2026-03-10T08:00:00Z',
        toTime: '2026-03-10T10:00:00Z',
      });
    register(leaver);
    await mirror.full();
    const first = await printed(mirror, command, '--old-after', NEVER_OLD);
    expect(first).toMatchObject({ old: false, completeAsOf: await lastFull(mirror) });
    expect(first.absent.map(({ student }) => student)).toContain(leaver);
    const isLeavers = (row: object): boolean =>
      (row as { student?: { sourcedId?: string } }).student?.sourcedId === leaver;
    for (const row of district.snapshot('absence-versions').filter(isLeavers)) {
      district.remove('absences', idOf(row));
    }
    clock.advance(3 * HOUR_MS);
    register(other);
    await mirror.delta();
    const later = await printed(mirror, command, '--old-after', NEVER_OLD);
    expect(later.absent).toHaveLength(first.absent.length + 1);
    expect(later.absent).toEqual(expect.arrayContaining([...first.absent]));
    expect(later.completeAsOf).toBe(first.completeAsOf);
    expect(Date.parse(later.watermark ?? '')).toBeGreaterThan(Date.parse(first.watermark ?? ''));
    // By the clock of this machine the hub's day is long over.
    expect((await printed(mirror, command)).old).toBe(true);
    await using forPeople = tableOf(mirror, command, '--once');
    expect(await forPeople.ended).toBe(0);
    expect(forPeople.said()).toMatch(new RegExp(`${first.completeAsOf} may be shown still[^]*OLD: `));

    await mirror.full();
    const last = await printed(mirror, command, '--old-after', NEVER_OLD);
    expect(last.absent).toEqual(absentAtHub(mirror.hub));
    expect(last.absent.map(({ student }) => student)).not.toContain(leaver);
    expect(last.completeAsOf).toBe(await lastFull(mirror));
    expect(Date.parse(last.completeAsOf)).toBeGreaterThan(Date.parse(first.completeAsOf));
  });
});
