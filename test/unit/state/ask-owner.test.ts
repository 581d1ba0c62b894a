import { expect, it, vi } from 'vitest';
import { keepHeartbeat } from '../../../src/state/keep-heartbeat.ts';
import { sleep } from '../../../src/runtime.ts';
import { askOwner } from '../../../src/state/ask-owner.ts';
import { MemoryCoordination } from './memory-coordination.ts';

const FOREVER_MS = 1e12;

/** A clock, and the coordination between owner and command. */
class Bench {
  nowMs = 0;
  readonly coordination = new MemoryCoordination(() => this.nowMs);

  /** Sends a request to an owner that takes none, and returns the error in the end. */
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

/** Sends a request to an owner whose heartbeat never expires and is renewed for a time. */
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

it('a heartbeat that is neither renewed nor expires stops a command for half a minute only', async () => {
  const { error, afterMs } = await ask(60_000, counted);
  expect(error).toMatchObject({ code: 'OWNER_BUSY', message: expect.stringContaining('renewed') as string });
  expect(afterMs).toBeGreaterThan(60_000);
  expect(afterMs).toBeLessThan(95_000);
});

it('the heartbeat of a killed process is no longer renewed, even if Redis keeps it', async () => {
  const bench = new Bench();
  const { coordination } = bench;
  const announce = coordination.announce.bind(coordination);
  const beats: (string | undefined)[] = [];
  coordination.announce = (tenantId, sign) => {
    beats.push(sign.info['beat']);
    return announce(tenantId, sign, FOREVER_MS);
  };
  const killed = new AbortController();
  const beating = keepHeartbeat(
    coordination,
    { tenantId: 'north', owner: 'o' },
    {
      ownedSinceMs: () => null,
      signal: killed.signal,
      sleep,
    },
  );
  await vi.waitFor(() => expect(new Set(beats).size).toBe(2), { timeout: 10_000 });
  killed.abort();
  await beating;
  expect(await bench.ask()).toMatchObject({ code: 'OWNER_BUSY' });
  expect(bench.nowMs).toBeLessThan(60_000);
});

it('a command waits for an owner that renews its heartbeat', async () => {
  const { error, afterMs } = await ask(FOREVER_MS, counted);
  expect(error).toMatchObject({
    code: 'OWNER_BUSY',
    message: expect.stringContaining('take the request up') as string,
  });
  expect(afterMs).toBeGreaterThan(600_000);
});
