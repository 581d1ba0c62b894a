import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { watchRegistry } from '../../../src/telemetry/watch-registry.ts';
import { boardOf } from './support/board-of.ts';

/** Lets the watch ask once for each answer (false: none), and gives what is reported after each. */
async function watch(
  answers: readonly boolean[],
  code: 'REGISTRY_UNREACHABLE' | 'REGISTRY_REFUSED' = 'REGISTRY_UNREACHABLE',
) {
  const world = boardOf(Date.parse('2026-11-20T12:00:00Z'));
  world.isWell();
  const ending = new AbortController();
  const lines: string[] = [];
  const seen: { readyz: string[]; state: string | undefined; metric: boolean }[] = [];
  let asked = 0;
  let sleptMs = 0;
  const look = async (): Promise<void> => {
    seen.push({
      readyz: world.board.reasons().map(({ part }) => part),
      state: world.board.statuses()[0]?.state,
      metric: (await world.registry.metrics()).includes('rollcall_ready{tenant="north",part="registry"} 1'),
    });
  };
  await watchRegistry({
    ping: async () => {
      asked += 1;
      if (answers[asked - 1] === true) return;
      throw new RollcallError(code, 'The schema registry is unreachable', {
        remedy: 'Check it.',
      });
    },
    tenants: ['north'],
    health: world.health,
    logger: createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } }),
    signal: ending.signal,
    sleep: async (ms) => {
      if (asked > 0) await look();
      sleptMs = ms;
      if (asked === answers.length) ending.abort();
    },
  });
  return { seen, lines, sleptMs };
}

describe('a schema registry that stops to answer while Rollcall runs', () => {
  it('shows in readyz, status and metrics within a minute, and no longer once it answers', async () => {
    const { seen, sleptMs } = await watch([true, false, true]);
    expect(seen).toEqual([
      { readyz: [], state: 'well', metric: true },
      { readyz: ['registry'], state: 'in-trouble', metric: false },
      { readyz: [], state: 'well', metric: true },
    ]);
    expect(sleptMs).toBeLessThan(60_000 - 10_000);
  });

  it('is logged once, and so is its return', async () => {
    const { lines } = await watch([false, false, false, true, true]);
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      'The schema registry is unreachable (REGISTRY_UNREACHABLE)',
      'the schema registry answers again',
    ]);
  });

  it('that only refuses the list of all subjects counts as answering', async () => {
    const { seen, lines } = await watch([false], 'REGISTRY_REFUSED');
    expect([seen[0]?.readyz, lines]).toEqual([[], []]);
  });
});
