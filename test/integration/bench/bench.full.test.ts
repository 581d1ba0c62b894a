import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import { reportOf } from '../../../bench/report.ts';
import type { BenchNumbers } from '../../../bench/run.ts';
import { runCommand } from '../../../stack/run-command.ts';

const BENCH = join(import.meta.dirname, '../../../bench/main.ts');

/** Runs the benchmark on the services of this test run. Nothing is said about how long anything takes. */
async function bench(...args: string[]): Promise<BenchNumbers> {
  const { kafkaBrokers, registryUrl, redisUrl } = inject('stack');
  const addresses = {
    ROLLCALL_KAFKA_BROKERS: kafkaBrokers.join(','),
    ROLLCALL_REGISTRY_URL: registryUrl,
    ROLLCALL_REDIS_URL: redisUrl,
  };
  const { code, output } = await runCommand(process.execPath, [BENCH, '--rounds', '1', '--json', ...args], {
    env: { ...process.env, NODE_OPTIONS: undefined, ...addresses },
  });
  expect({ code, output }).toMatchObject({ code: 0 });
  return JSON.parse(output.slice(output.indexOf('\n{\n'), output.lastIndexOf('\n}') + 2)) as BenchNumbers;
}

it('the benchmark measures named lines of its report, and the growth of cost with collection size', async () => {
  const byName = await bench(
    '--rows',
    '1000',
    ...['pages', 'pages-first', 'delay-p50'].flatMap((name) => ['--only', name]),
  );
  expect(byName.lines.map(({ name }) => name)).toEqual(['pages', 'pages-first', 'delay-p50']);
  expect(byName.parts.pages?.unchangedTimes.median).toBeGreaterThan(0);
  expect(reportOf(byName)).toMatch(/`pages`\).*≥ 7 ×.*(met|falls short)/);
  const bySize = await bench('--sizes', '1000,9000');
  const [small, large] = bySize.growth;
  expect(large?.rows).toBeGreaterThan(small?.rows ?? Number.NaN);
  for (const { unchanged, incrementalCommittedMs, firstRecords, rows } of bySize.growth)
    for (const number of [unchanged.median, incrementalCommittedMs.median, firstRecords - rows])
      expect(number).toBeGreaterThan(0);
  expect(reportOf(bySize)).toMatch(/peak MiB after the first pull[^\d]+\d+, \d+, \d+ +\d+, \d+, \d+/);
});
