import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openDatabase } from '../../../examples/postgres-sink/run/postgres.ts';
import { EXAMPLE } from '../../../examples/postgres-sink/run/sink.ts';

/** A Monday: 09:30 in Oslo. */
const NOW = '2026-03-09T08:30:00+00:00';
it('the questions of postgres-sink are answered by the clock of the school, and without old news', async ({
  signal,
}) => {
  await using database = await openDatabase(null, signal);
  await database.runFile(join(EXAMPLE, 'tables.sql'));
  await database.runFile(join(import.meta.dirname, 'questions-school.sql'));
  const text = readFileSync(join(EXAMPLE, 'questions.sql'), 'utf8').replaceAll(/^--.*$/gm, '');
  const questions = text.split(';').filter((sql) => sql.trim() !== '');
  const answers: unknown[][][] = [];
  for (const sql of questions) {
    const rows = await database.rows<object>(sql.replaceAll('now()', `timestamptz '${NOW}'`));
    answers.push(rows.map((row) => Object.values(row) as unknown[]));
  }
  const [watermark, complete] = ['2026-03-09T08:25:00+00:00', '2026-03-09T02:00:00+00:00'];
  const [nine, ten] = ['2026-03-09T08:00:00+00:00', '2026-03-09T09:00:00+00:00'];
  const [late, noEnd] = ['2026-03-08T22:30:00+00:00', '9999-12-31T23:59:00+00:00'];
  expect(answers).toEqual([
    [
      ['absences', watermark, 2, complete, false, 0, 0, true],
      ['users', watermark, 0, complete, true, 2, 0, false],
    ],
    [
      ['Ada', 'Berg', 'North', '8B', nine, ten],
      ['Bo', 'Dahl', null, null, late, noEnd],
    ],
    [
      ['North', '2026-03-09', 2, 1],
      ['unknown, or several', '2026-03-02', 1, 1],
    ],
    [['2026-03-08T23:30:00+00:00', 'CREATED', 'HUB', 1, 'Ada', 'Berg', null, null, null, null]],
  ]);
});
