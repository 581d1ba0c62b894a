import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { startOwnKafka } from '../support/kafka.ts';
import { troubledTenant, type TroubledTenant } from '../support/tenant.ts';

const RESTARTED_FOR_MS = 10 * 60_000;
const TEST_TIMEOUT_MS = 3 * RESTARTED_FOR_MS;
const LOOK_EVERY_MS = 250;
/** A district of thirty pupils must not lose half of them meanwhile. */
const CHANGES_EVERY_MS = 2_000;
/** A session that failed begins again after 30 s at most, and then takes the tenant over. */
const NOT_READY_AT_MOST_MS = 60_000;

/** Watches `/readyz` until it is disposed of. */
class Readiness implements AsyncDisposable {
  longestNotReadyMs = 0;
  #lastReadyAtMs = performance.now();
  readonly #over = new AbortController();
  readonly #watching: Promise<void>;

  constructor(tenant: TroubledTenant) {
    this.#watching = this.#watch(tenant);
  }

  async #watch({ child }: TroubledTenant): Promise<void> {
    while (!this.#over.signal.aborted) {
      const isReady = await child.get('/readyz').then(({ status }) => status === 200);
      const nowMs = performance.now();
      this.longestNotReadyMs = Math.max(this.longestNotReadyMs, nowMs - this.#lastReadyAtMs - LOOK_EVERY_MS);
      if (isReady) this.#lastReadyAtMs = nowMs;
      await delay(LOOK_EVERY_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#watching;
  }
}

it(
  'rolling restarts of brokers interrupt a tenant for at most a minute, and lose or repeat no change',
  async () => {
    await using kafka = await startOwnKafka();
    await using tenant = await troubledTenant({ seed: 1, kafka, kafkaSettings: { session: '10s' } });
    tenant.start();
    await tenant.loaded();
    let restarts = 0;
    const readiness = new Readiness(tenant);
    {
      await using _ = readiness;
      using __ = tenant.churn.live(CHANGES_EVERY_MS);
      for (const endAtMs = performance.now() + RESTARTED_FOR_MS; performance.now() < endAtMs; restarts += 1) {
        const broker = kafka.services[restarts % kafka.services.length];
        broker?.kill('SIGTERM');
        await vi.waitUntil(() => broker?.isRunning() === false);
        await broker?.restart();
        await kafka.inSync();
      }
      await tenant.ready();
    }
    const sessions = tenant.child.output().split('"msg":"mirroring"').length - 1;
    console.log(
      `${restarts} restarts; ${sessions} sessions; not ready for ${Math.round(readiness.longestNotReadyMs)} ms at most`,
    );
    await tenant.heals();
    await tenant.endsWell();
    expect(readiness.longestNotReadyMs).toBeLessThan(NOT_READY_AT_MOST_MS);
  },
  TEST_TIMEOUT_MS,
);
