import { describe, expect, it } from 'vitest';
import type { ReferenceHub } from '../../../src/reference-hub/start-reference-hub.ts';
import { openMirror, TERM_MORNING_MS, type Mirror } from '../support/mirror.ts';
import { idOf } from '../support/rows.ts';
import { startExample, type ExampleProcess } from './example-process.ts';

type Row = Readonly<Record<string, unknown>>;

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const AT = new Date(TERM_MORNING_MS).toISOString();
const MINUTE_MS = 60_000;

/** Who is absent at {@link AT}, by the hub's records alone (spec 3, rules 1 and 2). */
function absentAtHub(hub: ReferenceHub): object[] {
  const rows = hub.district.snapshot('absence-versions');
  const byId = new Map<string, Row>(rows.map((row) => [idOf(row), row]));
  const rootOf = (row: Row): string => {
    const before = byId.get(referenceIn(row, 'replaces') ?? '');
    return before === undefined ? idOf(row) : rootOf(before);
  };
  return rows
    .filter((row) => referenceIn(row, 'replacedBy') === null && typeof row['deletedTime'] !== 'string')
    .filter((row) => timeIn(row, 'fromTime') <= TERM_MORNING_MS && TERM_MORNING_MS < timeIn(row, 'toTime'))
    .map((row) => ({
      absenceId: rootOf(row),
      student: referenceIn(row, 'student'),
      from: new Date(timeIn(row, 'fromTime')).toISOString(),
      to: new Date(timeIn(row, 'toTime')).toISOString(),
      class: referenceIn(row, 'classesAffected'),
    }))
    .toSorted((a, b) => (a.absenceId < b.absenceId ? -1 : 1));
}

function referenceIn(row: Row, field: string): string | null {
  return (row[field] as { sourcedId: string } | null | undefined)?.sourcedId ?? null;
}

function timeIn(row: Row, field: string): number {
  return Date.parse(String(row[field]));
}

function tables(example: ExampleProcess): object[][] {
  return example.lines().map((line) => (JSON.parse(line) as { absent: object[] }).absent);
}

function startTable(mirror: Mirror, ...args: string[]): ExampleProcess {
  const topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
  return startExample('absent-now.ts', ['--topics', topics, '--at', AT, '--json', ...args]);
}

async function expectTable(example: ExampleProcess, hub: ReferenceHub): Promise<void> {
  const expected = absentAtHub(hub);
  const wanted = JSON.stringify(expected);
  await example.until(`a last line with ${wanted}`, () => JSON.stringify(tables(example).at(-1)) === wanted);
}

/** Somebody comes late, somebody was not away after all, somebody falls ill. */
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
  it('a table that is not whole is not shown', async () => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      hubSettings: { pageSize: 50, paging: 'keyset' },
    });
    const { faults } = mirror.hub;
    faults.set('ignore-after@absence-versions');
    await mirror.attempt('FULL');
    expect((await mirror.view('absences')).size).toBeGreaterThan(10);
    await using example = startTable(mirror);
    await example.until('that it waits', () => example.said().includes('waiting'));
    faults.clear();
    await mirror.full();
    await example.until('a table', () => example.lines().length > 0);
    expect(tables(example)).toEqual([absentAtHub(mirror.hub)]);
  });

  it('the table equals the hub while it lives, also after the reader was killed', async () => {
    await using mirror = await openMirror({ collections: COLLECTIONS });
    const { hub } = mirror;
    await mirror.full();
    await using example = startTable(mirror);
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
    await using next = startTable(mirror, '--once');
    expect(await next.ended).toBe(0);
    expect(tables(next)).toEqual([absentAtHub(hub)]);
  });
});
