import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { BenchNumbers } from '../../../bench/run.ts';
import { runCommand } from '../../../stack/run-command.ts';

const BENCH = join(import.meta.dirname, '../../../bench/main.ts');

/** Runs the benchmark on the services of this test run. Nothing is said about how long anything takes. */
async function bench(...args: string[]): Promise<{ numbers: BenchNumbers; output: string }> {
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-bench-test-'));
  try {
    const file = join(folder, 'numbers.json');
    const addresses = {
      ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
      ROLLCALL_REGISTRY_URL: registryUrl,
      ROLLCALL_REDIS_URL: redisUrl,
    };
    const { code, output } = await runCommand(
      process.execPath,
      [BENCH, '--rounds', '1', '--out', file, ...args],
      {
        env: { ...process.env, NODE_OPTIONS: undefined, ...addresses },
      },
    );
    expect({ code, output }).toMatchObject({ code: 0 });
    return { numbers: JSON.parse(await readFile(file, 'utf8')) as BenchNumbers, output };
  } finally {
    await rm(folder, { recursive: true });
  }
}

it('measures a line by its name, and names its target and whether it is met', async () => {
  const { numbers, output } = await bench('--rows', '1000', '--only', 'pages', '--only', 'pages-first');
  expect(numbers.lines.map(({ name }) => name)).toEqual(['pages', 'pages-first']);
  const { pages } = numbers.parts;
  expect(pages?.rows).toBeGreaterThan(1_000);
  expect(pages?.unchanged.times.median).toBeGreaterThan(0);
  expect(output).toMatch(/`pages`\).*≥ 7 ×.*(met|falls short)/);
});

it('measures how the cost grows with the size of a collection', async () => {
  const { numbers, output } = await bench('--sizes', '1000,9000', '--markdown');
  const [small, large] = numbers.growth;
  expect(large?.rows).toBeGreaterThan(small?.rows ?? Number.NaN);
  expect(small?.firstRecords).toBeGreaterThan(small?.rows ?? Number.NaN);
  for (const size of numbers.growth) {
    expect(size.unchanged.median).toBeGreaterThan(0);
    expect(size.deltaCommittedMs.median).toBeGreaterThan(0);
    expect(size.peakMiB.atTheEnd).toBeGreaterThanOrEqual(size.peakMiB.afterFirst);
  }
  expect(output).toMatch(/\| peak MiB after the first pull \| \d+ \| \d+ \|/);
});
