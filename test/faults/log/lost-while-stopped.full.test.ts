import { describe, expect, it } from 'vitest';
import { flushRedis } from '../../integration/pipeline/redis-copy.ts';
import { allProblems } from '../support/checker.ts';
import {
  expectRejects,
  lose,
  LOST_IN_TURN,
  repeatedAfter,
  tenantWithRejects,
} from '../support/lose-topic.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { expectHealed } from '../support/survive.ts';

describe.each(ROUNDS)('a topic that lost its records while no process ran, round %i', (round) => {
  it.each(LOST_IN_TURN.map((losses) => ({ losses, what: losses.flat().join(' ') })))(
    '$what: the next start notices the loss, and the topic is filled again',
    async ({ losses }) => {
      await using tenant = await tenantWithRejects(round);
      await expectHealed(tenant);
      const lost: string[] = [];
      for (const [topic, how] of losses) {
        tenant.churn.step(20);
        await expectHealed(tenant, { lost });
        await lose(tenant, topic, how);
        // Without an index only the log itself shows the loss.
        if (round % 2 === 0) await flushRedis(tenant.topicPrefix);
        lost.push(...repeatedAfter(topic));
        await expectHealed(tenant, { lost });
      }
      expect(await allProblems(tenant, { lost })).toEqual([]);
      await expectRejects(tenant);
    },
  );
});
