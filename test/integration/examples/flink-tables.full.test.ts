import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, inject, it } from 'vitest';
import { openDatabase, type Database } from '../../../examples/postgres-sink/run/postgres.ts';
import { addressesOf } from '../../../examples/postgres-sink/run/sink.ts';
import { openScheduleMirror, type ScheduleMirror } from '../pipeline/schedule-mirror.ts';
import type { Running } from '../support/running.ts';
import { ARRAY_TABLES, rowsOf } from './array-tables.ts';
import { buildJava, exampleFile, startProgram } from './example-process.ts';
import { expectEqual, textOf, type Table } from './expect-table.ts';

const TABLES = [...new Set(ARRAY_TABLES.map(({ table }) => table))];
const TOPICS = [...new Set(ARRAY_TABLES.map(({ topic }) => topic))];
const LONGEST_MS = 1_000_000;
const RESOURCES = ['r1', 'r2'].map((sourcedId) => ({ sourcedId, type: 'resource' }));

/** Rows of several tables, whose keys are the rows themselves. */
const together = (rows: readonly (readonly [table: string, row: object])[]): Table =>
  new Map(rows.map(([table, row]) => [`${table} ${textOf(row)}`, row]));

async function wantedOf(mirror: ScheduleMirror): Promise<Table> {
  const views = new Map<string, Awaited<ReturnType<ScheduleMirror['view']>>>();
  for (const topic of TOPICS) views.set(topic, await mirror.view(topic));
  const rows = ARRAY_TABLES.flatMap((each) =>
    rowsOf(each, views.get(each.topic)?.values() ?? []).map((row) => [each.table, row] as const),
  );
  const filled = new Set(rows.map(([table]) => table));
  expect(TABLES.filter((table) => !filled.has(table))).toEqual([]);
  return together(rows);
}

async function foundIn(database: Database): Promise<Table> {
  const found: (readonly [string, object])[] = [];
  for (const table of TABLES)
    for (const row of await database.rows<object>(`SELECT * FROM ${table}`)) found.push([table, row]);
  return together(found);
}

/** Gives some rows the arrays that the invented district lacks. */
function addArrays({ district }: ScheduleMirror['hub']): void {
  for (const name of ['users', 'classes', 'courses'])
    district.patch(name, district.ids(name)[0] ?? '', { resources: RESOURCES });
  const scores = { learningObjectiveResults: [{ learningObjectiveId: 'o1', score: 4.5, textScore: 'good' }] };
  const ids = { learningObjectiveIds: ['o1', 'o2'] };
  for (const name of ['results', 'assessment-results', 'line-items', 'assessment-line-items']) {
    const set = { source: 'case', ...(name.endsWith('results') ? scores : ids) };
    district.patch(name, district.ids(name)[0] ?? '', { learningObjectiveSet: [set, set] });
  }
}

/** Arrays get shorter, and a user and a whole day of lessons leave. */
async function shorten(mirror: ScheduleMirror): Promise<void> {
  const { district } = mirror.hub;
  const [first = '', second = ''] = district.ids('students');
  district.patch('users', first, { agents: [] });
  district.patch('courses', district.ids('courses')[0] ?? '', { resources: RESOURCES.slice(1) });
  district.remove('users', second);
  const [day, other] = [...(await mirror.view('schedules')).values()].map(
    ({ value }) => value?.['lessons'] as readonly { readonly id: string }[],
  );
  for (const { id } of day ?? []) district.changeLesson(id, null);
  district.changeLesson(other?.[0]?.id ?? '', { title: 'Moved' });
}

beforeAll(() => buildJava('flink-join'), 600_000);

it(
  'the example flink-tables equals the topics, even if arrays got shorter while Flink was killed',
  async ({ signal }) => {
    await using mirror = await openScheduleMirror({
      students: 'absent',
      daysBack: 7,
      daysAhead: 7,
      collections: [...TOPICS, 'absence-versions', 'absence-changes'],
      settings: { deletions: { holdAbove: { rows: 10_000, ratio: 1 } } },
      hubOptions: { students: 40 },
    });
    addArrays(mirror.hub);
    await mirror.full();
    await using database = await openDatabase(null, signal);
    await database.runFile(exampleFile('flink-tables/tables.sql'));
    const checkpoints = mkdtempSync(join(tmpdir(), 'rollcall-flink-'));
    await using end = new AsyncDisposableStack();
    end.defer(() => rmSync(checkpoints, { recursive: true, force: true }));
    const { kafkaBrokers, registryUrl } = inject('stack');
    const topics = `${mirror.topicPrefix}.${mirror.tenantId}`;
    const start = (): Running =>
      startProgram([exampleFile('flink-tables/run.sh')], {
        ...addressesOf({ kafkaBrokers, registryUrl }, topics, database),
        TOPICS: topics,
        BROKERS: kafkaBrokers.join(','),
        REGISTRY: registryUrl,
        CHECKPOINTS: pathToFileURL(checkpoints).href,
      });
    const hasCheckpoint = (): boolean => globSync(join(checkpoints, '*/chk-*/_metadata')).length > 0;

    await using first = start();
    await expectEqual(await wantedOf(mirror), () => foundIn(database), first);
    await first.until('it had a checkpoint', hasCheckpoint);
    await first.stop('SIGKILL');
    await shorten(mirror);
    await mirror.full();
    await using second = start();
    await expectEqual(await wantedOf(mirror), () => foundIn(database), second);
  },
  LONGEST_MS,
);
