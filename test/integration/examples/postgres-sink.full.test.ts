import { fileURLToPath } from 'node:url';
import { expect, inject, it } from 'vitest';
import { deleteTopicsOf } from '../support/stack-kafka.ts';
import { exampleFile, startProgram } from './example-process.ts';

/** The tables of tables.sql that the example compares: the rows, the absences and their history. */
const TABLES = 17;
const LONGEST_MS = 900_000;

it(
  'the example postgres-sink fills tables that equal the hub, even on a machine that is not in UTC',
  async () => {
    // As `npm run example` starts it. The sink writes UTC only if the process has no other zone.
    const setup = fileURLToPath(new URL('../../../scripts/with-setup.mjs', import.meta.url));
    const command = [
      process.execPath,
      setup,
      exampleFile('postgres-sink'),
      '--for',
      '20s',
      '--students',
      '60',
    ];
    const env = { TZ: 'Europe/Oslo', ROLLCALL_REDIS_URL: inject('stack').redisUrl };
    await using example = startProgram(command, env);
    try {
      await example.endsWith(0);
    } finally {
      const [, topics] = / topics (\S+)\.\*/.exec(example.output()) ?? [];
      if (topics !== undefined) await deleteTopicsOf(topics);
    }
    const output = example.output();
    expect(output.match(/^ {2}\w+ +\d+ rows {3}equals the hub$/gm)).toHaveLength(TABLES);
    expect(output).toMatch(/^ {2}[1-9]\d* rows were removed meanwhile$/m);
    expect(output).toMatch(/^ {2}absence_changes +[1-9]/m);
    expect(output).toContain('The tables equal the hub.');
  },
  LONGEST_MS,
);
