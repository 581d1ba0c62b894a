import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createRandom } from '../../../reference-hub/random.ts';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { IS_FULL } from '../../run/rounds.ts';
import { troubledTenant, type TroubledTenant } from '../support/tenant.ts';

const KILLS = IS_FULL ? 100 : 4;
/** Everything is checked this often, so that a violation shows near the kill that led to it. */
const CHECKED_AFTER_KILLS = IS_FULL ? 10 : KILLS;
const LONGEST_LIFE_MS = 2_500;
const TAKES_AT_MOST_MS = 180_000 + KILLS * 60_000;

const random = createRandom(Number(process.env['ROLLCALL_FAULTS_SEED'] ?? 5));

/** Runs a process on a hub that changes and kills it at any moment; sometimes its Redis is lost meanwhile. */
async function liveAndDie(tenant: TroubledTenant): Promise<void> {
  using _ = tenant.churn.live();
  const child = tenant.start();
  await child.says(random.chance(0.3) ? '"probes and metrics are served"' : 'the tenant is owned');
  // Otherwise only the first process would ever look for rows that have left.
  if (random.chance(0.5)) void tenant.pullFull(LONGEST_LIFE_MS).catch(() => undefined);
  // Any moment will do: the guarantees must hold whatever the process was doing.
  const lifeMs = random.below(LONGEST_LIFE_MS);
  await delay(lifeMs / 2);
  if (random.chance(0.15)) await flushRedis(tenant.topicPrefix);
  await delay(lifeMs / 2);
  child.kill('SIGKILL');
  await child.endsWith('SIGKILL');
}

it(
  `after ${KILLS} kills at random moments, no change of the hub is lost or published twice`,
  async () => {
    await using tenant = await troubledTenant({ seed: random.below(1_000) });
    for (let kills = 1; kills <= KILLS; kills += 1) {
      await liveAndDie(tenant);
      if (random.chance(0.2)) await flushRedis(tenant.topicPrefix);
      if (kills % CHECKED_AFTER_KILLS === 0) await tenant.nextHeals();
    }
    expect(tenant.hub.living.happened()).toMatchObject({ 'absence replaced': expect.any(Number) });
  },
  TAKES_AT_MOST_MS,
);
