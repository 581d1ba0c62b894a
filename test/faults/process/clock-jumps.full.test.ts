import { expect, it } from 'vitest';
import { CLOCK_MAIN, machineClock } from '../support/machine-clock.ts';
import { troubledTenant } from '../support/tenant.ts';

/** A broker refuses records whose time is more than an hour ahead of its own (`message.timestamp.after.max.ms`). */
const AHEAD_MS = 6 * 3_600_000;
const CLOCK_JUMPED = { clocksAgree: false };

it('a process is not ready while its clock is further ahead than Kafka accepts, and recovers afterwards', async () => {
  await using tenant = await troubledTenant({ seed: 21 });
  using clock = machineClock();
  const child = tenant.start(CLOCK_MAIN, clock.file);
  await tenant.heals();
  clock.jumpTo(AHEAD_MS);
  tenant.churn.step(20);
  await child.says('because the clock of this machine or of a broker is wrong');
  expect((await child.get('/readyz')).status).toBe(503);
  clock.jumpTo(0);
  await tenant.heals(CLOCK_JUMPED);
  await tenant.endsWell(CLOCK_JUMPED);
});
