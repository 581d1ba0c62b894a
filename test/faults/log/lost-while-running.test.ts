import { describe, expect, it } from 'vitest';
import { startRollcall } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems } from '../support/checker.ts';
import {
  expectRejects,
  lose,
  LOST_IN_TURN,
  repeatedAfter,
  tenantWithRejects,
} from '../support/lose-topic.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { endsSoon, expectHealsBy } from '../support/survive.ts';

describe.each(ROUNDS)('a topic that loses its records under a running process, round %i', (round) => {
  it.each(LOST_IN_TURN.map((losses) => ({ losses, what: losses.flat().join(' ') })))(
    '$what: the loss is noticed, and the topic is filled again',
    async ({ losses }) => {
      await using tenant = await tenantWithRejects(round);
      await using child = await startRollcall(['run'], tenant.configText);
      await expectHealsBy(child, tenant);
      const lost: string[] = [];
      for (const [topic, how] of losses) {
        tenant.churn.step(20);
        await expectHealsBy(child, tenant, { lost });
        await lose(tenant, topic, how);
        lost.push(...repeatedAfter(topic));
        await expectHealsBy(child, tenant, { lost });
      }
      tenant.churn.step(20);
      await expectHealsBy(child, tenant, { lost });
      child.kill('SIGTERM');
      await endsSoon(child, 0);
      expect(await allProblems(tenant, { lost })).toEqual([]);
      await expectRejects(tenant);
    },
  );
});
