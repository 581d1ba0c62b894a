import { describe, expect, it, vi } from 'vitest';
import { startScript } from '../../integration/pipeline/rollcall-process.ts';
import { endOffsets } from '../../integration/support/topic-reader.ts';
import { allProblems } from '../support/checker.ts';
import { CLOCK_MAIN, machineClock } from '../support/machine-clock.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, endsSoon, expectHealsBy, type ChurnedTenant } from '../support/survive.ts';

const HOUR_MS = 3_600_000;
/** A broker refuses records whose time is more than an hour ahead of its own (`message.timestamp.after.max.ms`). */
const JUMPS_MS: readonly number[] = IS_FULL
  ? [0.9, -5, -30, 0.5, -24 * 9, 0].map((hours) => hours * HOUR_MS)
  : [0.9, -30].map((hours) => hours * HOUR_MS);
const CLOCK_JUMPED = { clocksAgree: false };

/** Changes made after the clock jumped are published as before. */
async function expectGoesOn({ topicPrefix }: ChurnedTenant): Promise<void> {
  const topics = ['users', 'results'].map((name) => `${topicPrefix}.north.${name}`);
  const sum = async (): Promise<number> =>
    Object.values(await endOffsets(topics)).reduce((total, end) => total + end, 0);
  const before = await sum();
  await vi.waitFor(async () => expect(await sum()).toBeGreaterThan(before), 60_000);
}

describe.each(ROUNDS)('the clock of the machine jumps, round %i', (round) => {
  it('back and forth by hours under a running process: nothing is lost, published twice or removed wrongly', async () => {
    await using tenant = await churnedTenant(round);
    await using clock = await machineClock();
    await using child = await startScript(CLOCK_MAIN, { configText: tenant.configText, args: [clock.file] });
    await expectHealsBy(child, tenant);
    for (const offsetMs of JUMPS_MS) {
      {
        using _ = tenant.churn.live(30);
        await clock.jumpTo(offsetMs);
        await expectGoesOn(tenant);
      }
      await expectHealsBy(child, tenant, CLOCK_JUMPED);
    }
    child.kill('SIGTERM');
    await endsSoon(child, 0);
    expect(await allProblems(tenant, CLOCK_JUMPED)).toEqual([]);
  });

  it('between two processes: the next one publishes nothing twice and forgets no removal', async () => {
    await using tenant = await churnedTenant(10 + round);
    await using clock = await machineClock();
    for (const offsetMs of [0, ...JUMPS_MS]) {
      await clock.jumpTo(offsetMs);
      tenant.churn.step(20);
      await using child = await startScript(CLOCK_MAIN, {
        configText: tenant.configText,
        args: [clock.file],
      });
      await expectHealsBy(child, tenant, CLOCK_JUMPED);
      // A killed process leaves a heartbeat for some seconds.
      child.kill('SIGTERM');
      await endsSoon(child, 0);
    }
    expect(await allProblems(tenant, CLOCK_JUMPED)).toEqual([]);
  });

  it('ahead by more than a broker accepts: Rollcall reports it, and resumes when the clock is right again', async () => {
    await using tenant = await churnedTenant(20 + round);
    await using clock = await machineClock();
    await using child = await startScript(CLOCK_MAIN, { configText: tenant.configText, args: [clock.file] });
    await expectHealsBy(child, tenant);
    await clock.jumpTo(6 * HOUR_MS);
    tenant.churn.step(20);
    await child.says('Kafka refused the clock time of this machine');
    expect((await child.readiness())?.status).toBe(503);
    await clock.jumpTo(0);
    await expectHealsBy(child, tenant, CLOCK_JUMPED);
    child.kill('SIGTERM');
    await endsSoon(child, 0);
    expect(await allProblems(tenant, CLOCK_JUMPED)).toEqual([]);
  });
});
