import { describe, expect, it } from 'vitest';
import type { ReferenceHub } from '../../../reference-hub/start-reference-hub.ts';
import { newTopicPrefix, openMirror, type Mirror } from '../support/mirror.ts';
import { absentAtHub, startTable, tables } from './absent-table.ts';
import { startExample, type ExampleProcess } from './example-process.ts';

const COLLECTIONS = ['absence-versions', 'absences', 'absence-changes'] as const;
const MINUTE_MS = 60_000;

function tableOf(mirror: Mirror, ...args: string[]): ExampleProcess {
  return startTable(`${mirror.topicPrefix}.${mirror.tenantId}`, ...args);
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

  it('the table is shown only once it is complete', async () => {
    await using mirror = await openMirror({
      collections: COLLECTIONS,
      hubSettings: { pageSize: 50, paging: 'keyset' },
    });
    const { faults } = mirror.hub;
    faults.set('ignore-after@absence-versions');
    await mirror.attempt('FULL');
    expect((await mirror.view('absences')).size).toBeGreaterThan(10);
    await using example = tableOf(mirror);
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
    await using example = tableOf(mirror);
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
    await using next = tableOf(mirror, '--once');
    expect(await next.ended).toBe(0);
    expect(tables(next)).toEqual([absentAtHub(hub)]);
  });
});
