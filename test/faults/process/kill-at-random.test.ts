import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createRandom } from '../../../src/reference-hub/random.ts';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { startRollcall } from '../../integration/pipeline/rollcall-process.ts';
import { demandFull } from '../support/demand.ts';
import { IS_FULL } from '../support/rounds.ts';
import { churnedTenant, expectHealsRunning, type ChurnedTenant } from '../support/survive.ts';

const KILLS = IS_FULL ? 100 : 8;
/** So often all is checked, so that a violation is seen near the kill that led to it. */
const CHECKED_AFTER_KILLS = IS_FULL ? 10 : KILLS;
const LONGEST_LIFE_MS = 2_500;
const TAKES_AT_MOST_MS = 180_000 + KILLS * 60_000;

const random = createRandom(Number(process.env['ROLLCALL_FAULTS_SEED'] ?? 5));

/** One life of a real process on a hub that changes, ended anywhere; sometimes its Redis is lost under it. */
async function liveAndDie(tenant: ChurnedTenant): Promise<void> {
  const { topicPrefix } = tenant;
  using _ = tenant.churn.live(30);
  await using child = await startRollcall(['run'], tenant.configText);
  await child.says(random.chance(0.3) ? '"probes and metrics are served"' : 'the tenant is owned');
  // Else only the first life would ever look for what has left.
  const pull = random.chance(0.5) ? demandFull(topicPrefix, { withinMs: LONGEST_LIFE_MS }) : null;
  pull?.catch(() => undefined);
  // Any moment will do: what is checked must hold whatever was under way.
  const lifeMs = random.below(LONGEST_LIFE_MS);
  await delay(lifeMs / 2);
  if (random.chance(0.15)) await flushRedis(topicPrefix);
  await delay(lifeMs / 2);
  child.kill('SIGKILL');
  await child.endsWith('SIGKILL');
}

it(
  `kill -9 ${KILLS} times at any moment of a hub that changes: nothing is lost, nothing is told twice`,
  async () => {
    await using tenant = await churnedTenant(random.below(1_000));
    for (let kills = 1; kills <= KILLS; kills += 1) {
      await liveAndDie(tenant);
      if (random.chance(0.2)) await flushRedis(tenant.topicPrefix);
      if (kills % CHECKED_AFTER_KILLS !== 0) continue;
      await expectHealsRunning(tenant);
      if (IS_FULL) process.stderr.write(`${kills} kills, nothing wrong\n`);
    }
    const happened = tenant.churn.happened();
    expect(happened['left']).toBeGreaterThan(0);
    expect(happened['absence replaced']).toBeGreaterThan(0);
  },
  TAKES_AT_MOST_MS,
);
