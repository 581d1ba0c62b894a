import { expect, it, vi } from 'vitest';
import { keepHeartbeat } from '../../../src/pipeline/worker.ts';
import { askOwner } from '../../../src/state/ask-owner.ts';
import { createMemoryStore } from '../../../src/state/memory-store.ts';
import { MemoryCoordination } from '../../../src/state/memory-coordination.ts';

const FOREVER_MS = 1e12;

/** A clock, and what owner and asker find each other by. */
class Bench {
  nowMs = 0;
  readonly coordination = new MemoryCoordination(() => this.nowMs);

  /** Asks an owner that takes nothing; fails at last with what is returned. */
  ask(afterSleep: () => Promise<void> = async () => undefined): Promise<unknown> {
    return askOwner({
      coordination: this.coordination,
      tenantId: 'north',
      request: { id: 'r', kind: 'pull', parameters: {} },
      signal: new AbortController().signal,
      now: () => this.nowMs,
      sleep: async (ms) => {
        this.nowMs += ms;
        await afterSleep();
      },
    }).catch((reason: unknown) => reason);
  }
}

/** Asks an owner whose sign, which does not lapse, is renewed for so long. */
async function ask(renewedForMs: number, beatOf: (nowMs: number) => Record<string, string>) {
  const bench = new Bench();
  const announce = async (): Promise<void> => {
    const info = beatOf(bench.nowMs);
    await bench.coordination.announce('north', { owner: 'o', ownedSinceMs: 1, info }, FOREVER_MS);
  };
  await announce();
  const error = await bench.ask(async () => {
    if (bench.nowMs <= renewedForMs) await announce();
  });
  return { error, afterMs: bench.nowMs };
}

const counted = (nowMs: number): Record<string, string> => ({ beat: String(Math.floor(nowMs / 3_000) + 1) });

it('a sign that is neither renewed nor lapses holds a command for half a minute only', async () => {
  const { error, afterMs } = await ask(60_000, counted);
  expect(error).toMatchObject({ code: 'OWNER_BUSY', message: expect.stringContaining('renewed') as string });
  expect(afterMs).toBeGreaterThan(60_000);
  expect(afterMs).toBeLessThan(95_000);
});

it('the sign of a process that was killed counts as renewed no more, though Redis does not forget it', async () => {
  const bench = new Bench();
  const { coordination } = bench;
  const announce = coordination.announce.bind(coordination);
  const beats: (string | undefined)[] = [];
  coordination.announce = (tenantId, sign) => {
    beats.push(sign.info['beat']);
    return announce(tenantId, sign, FOREVER_MS);
  };
  const killed = new AbortController();
  const assembly = { store: { ...createMemoryStore(), coordination }, owner: 'o' };
  const beating = keepHeartbeat(assembly, {
    tenantId: 'north',
    ownedSinceMs: () => 0,
    signal: killed.signal,
  });
  await vi.waitFor(() => expect(new Set(beats).size).toBe(2), { timeout: 10_000 });
  killed.abort();
  await beating;
  expect(await bench.ask()).toMatchObject({ code: 'OWNER_BUSY' });
  expect(bench.nowMs).toBeLessThan(60_000);
});

it('an owner that renews its sign, or is of a version that does not count, is waited for', async () => {
  for (const beatOf of [counted, () => ({})]) {
    const { error, afterMs } = await ask(FOREVER_MS, beatOf);
    expect(error).toMatchObject({ code: 'OWNER_BUSY', message: expect.stringContaining('begin') as string });
    expect(afterMs).toBeGreaterThan(600_000);
  }
});
