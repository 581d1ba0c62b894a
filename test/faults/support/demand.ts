import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { inject } from 'vitest';
import { sleep } from '../../../src/runtime.ts';
import { askOwner } from '../../../src/state/ask-owner.ts';
import { createRedisStore } from '../../../src/state/redis-store.ts';

/** The answer of the process for a collection. */
interface PullOutcome {
  readonly collection: string;
  readonly outcome: string;
  readonly why: string | null;
}

/**
 * Makes the running process of tenant `north` run a full sync, as `rollcall pull --full` does, however often a fault
 * interrupts it: only a full sync finds rows that have left. When the time is over, throws the error of the last attempt.
 */
export async function demandFull(
  topicPrefix: string,
  options: { withinMs?: number; redisUrl?: string } = {},
): Promise<readonly PullOutcome[]> {
  const { withinMs = 60_000, redisUrl = inject('stack').redisUrl } = options;
  const store = createRedisStore({ url: redisUrl, keyPrefix: `${topicPrefix}:${topicPrefix}` });
  const giveUp = AbortSignal.timeout(withinMs);
  try {
    return await untilGivenUp(giveUp, async () => {
      const outcome = await askOwner({
        coordination: store.coordination,
        tenantId: 'north',
        request: {
          id: randomUUID(),
          kind: 'pull',
          parameters: { collections: [], full: true, acceptNew: false },
        },
        signal: giveUp,
        sleep,
        now: () => performance.now(),
        pollIntervalMs: 100,
      });
      if (outcome.state === 'failed') throw new Error(`the pull failed: ${outcome.message}`);
      const outcomes = outcome.result as readonly PullOutcome[];
      const unwell = outcomes.find((each) => each.outcome !== 'complete');
      if (unwell !== undefined) throw new Error(`${unwell.collection}: ${unwell.outcome}, ${unwell.why}`);
      return outcomes;
    });
  } finally {
    await store.close();
  }
}

async function untilGivenUp<T>(giveUp: AbortSignal, attempt: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (giveUp.aborted) throw error;
      await delay(200);
    }
  }
}
