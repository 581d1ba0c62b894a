import { describe, expect, it } from 'vitest';
import { RollcallError } from '../../../src/errors.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { watchService } from '../../../src/telemetry/watch-service.ts';
import { boardOf } from './support/board-of.ts';

const part = 'registry';
const name = 'the schema registry';
const away = 'REGISTRY_UNREACHABLE';
const refusal = 'REGISTRY_REFUSED';

type Answer = 'answers' | 'is away' | 'refuses';

/** Lets the watch ask once for each answer, and gives what is reported after each. */
async function watch(...answers: readonly Answer[]) {
  const world = boardOf(Date.parse('2026-11-20T12:00:00Z'));
  world.isWell();
  const ending = new AbortController();
  const lines: string[] = [];
  const seen: { readyz: string[]; state: string | undefined; metric: boolean }[] = [];
  let asked = 0;
  let sleptMs = 0;
  const look = async (): Promise<void> => {
    seen.push({
      readyz: world.board.reasons().map((reason) => reason.part),
      state: world.board.tenants[0]?.status().state,
      metric: (await world.registry.metrics()).includes(`rollcall_ready{tenant="north",part="${part}"} 1`),
    });
  };
  await watchService(
    {
      part,
      name,
      refusal,
      meanwhile: 'Meanwhile nothing happens.',
      ping: async () => {
        asked += 1;
        const answer = answers[asked - 1];
        if (answer === 'answers') return;
        const code = answer === 'refuses' ? refusal : away;
        throw new RollcallError(code, `${name} did not answer`, { remedy: 'Check it.' });
      },
    },
    {
      board: world.board,
      logger: createLogger({ level: 'info', destination: { write: (line) => void lines.push(line) } }),
      signal: ending.signal,
      sleep: async (ms) => {
        if (asked > 0) await look();
        sleptMs = ms;
        if (asked === answers.length) ending.abort();
      },
    },
  );
  return { seen, lines, sleptMs };
}

describe('a service that stops to answer while Rollcall runs', () => {
  it('shows in readyz, status and metrics within a minute, and no longer once it answers', async () => {
    const { seen, sleptMs } = await watch('answers', 'is away', 'answers');
    expect(seen).toEqual([
      { readyz: [], state: 'well', metric: true },
      { readyz: [part], state: 'in-trouble', metric: false },
      { readyz: [], state: 'well', metric: true },
    ]);
    expect(sleptMs).toBeLessThan(60_000 - 10_000);
  });

  it('is logged once, and so is its return', async () => {
    const { lines } = await watch('is away', 'is away', 'is away', 'answers', 'answers');
    expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
      `${name} did not answer (${away})`,
      `${name} answers again`,
    ]);
  });

  it('counts as answering if it only refuses the question', async () => {
    const { seen, lines } = await watch('refuses');
    expect([seen[0]?.readyz, lines]).toEqual([[], []]);
  });
});
