import { describe, expect, it } from 'vitest';
import { ROUNDS } from '../../run/rounds.ts';
import { CLOCK_MAIN, machineClock } from '../support/machine-clock.ts';
import { troubledTenant } from '../support/tenant.ts';

const HOUR_MS = 3_600_000;
/** A broker refuses records whose time is more than an hour ahead of its own (`message.timestamp.after.max.ms`). */
const JUMPS_MS = [0.9, -5, -30, 0.5, -24 * 9, 0].map((hours) => hours * HOUR_MS);
const CLOCK_JUMPED = { clocksAgree: false };

describe.each(ROUNDS)('round %i', (round) => {
  it('when the clock of the machine jumps, no record is lost, published twice or wrongly removed', async () => {
    await using tenant = await troubledTenant({ seed: round });
    using clock = machineClock();
    for (const isRunning of [true, false]) {
      tenant.start(CLOCK_MAIN, clock.file);
      // The log of a process that was started again names no sync that changed nothing.
      await (isRunning ? tenant.loaded() : tenant.ready());
      for (const offsetMs of JUMPS_MS) {
        if (!isRunning) await tenant.endsWell(CLOCK_JUMPED);
        {
          using _ = tenant.churn.live();
          clock.jumpTo(offsetMs);
          if (!isRunning) tenant.start(CLOCK_MAIN, clock.file);
          await tenant.flows();
        }
        await tenant.heals(CLOCK_JUMPED);
      }
      await tenant.endsWell(CLOCK_JUMPED);
    }
  });

  it('a process is not ready while its clock is further ahead than Kafka accepts, and says why', async () => {
    await using tenant = await troubledTenant({ seed: 20 + round });
    using clock = machineClock();
    const child = tenant.start(CLOCK_MAIN, clock.file);
    await tenant.heals();
    clock.jumpTo(6 * HOUR_MS);
    tenant.churn.step(20);
    await child.says('because the clock of this machine or of a broker is wrong');
    expect((await child.get('/readyz')).status).toBe(503);
    clock.jumpTo(0);
    await tenant.heals(CLOCK_JUMPED);
    await tenant.endsWell(CLOCK_JUMPED);
  });
});
