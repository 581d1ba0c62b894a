import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { findInPath } from '../../../stack/java-tools.ts';
import { runCommand } from '../../../stack/run-command.ts';
import { startOwnKafka, type OwnKafka } from '../support/own-kafka.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { startMirrored } from './support/mirrored.ts';

const PRLIMIT = findInPath('prlimit');

/** Lets no file of the broker grow beyond the largest file of a topic (setrlimit(2), RLIMIT_FSIZE); a restart lifts the limit. */
async function fillDisk(kafka: OwnKafka): Promise<void> {
  const limit = `--fsize=${await kafka.largestLogBytes()}`;
  const { code, output } = await runCommand(PRLIMIT ?? '', ['--pid', String(kafka.service.pid), limit]);
  expect([code, output]).toEqual([0, '']);
}

describe.skipIf(PRLIMIT === undefined).each(ROUNDS)('round %i', (seed) => {
  it('after the disk of a broker was full for a time, nothing is lost or published twice', async () => {
    await using kafka = await startOwnKafka();
    await using mirrored = await startMirrored({
      seed,
      servers: { kafkaBrokers: kafka.brokers },
      detours: { kafka: kafka.proxiedBrokers },
    });
    await mirrored.loaded();
    {
      using _ = mirrored.churn.live(20);
      await fillDisk(kafka);
      await mirrored.notReady('kafka');
      expect(await readFile(kafka.service.logFile, 'utf8')).toContain('File too large');
      await kafka.service.restart();
      await mirrored.ready();
      await mirrored.flows();
    }
    await mirrored.heals();
  });
});
