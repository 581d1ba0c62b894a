import { describe, expect, it } from 'vitest';
import { startRollcall } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems, healed } from '../support/checker.ts';
import { lose, tenantWithRejects } from '../support/lose-topic.ts';
import { ROUNDS } from '../../run/rounds.ts';
import { endsSoon, expectHealsBy } from '../support/survive.ts';

/** Rollcall checks its topics once a minute when nothing else makes it do so. */
const NOTICED_WITHIN_MS = 80_000;

describe.each(ROUNDS)(
  'a topic that is lost while the hub does not change and no command asks, round %i',
  (round) => {
    it('is noticed and filled again', async () => {
      await using tenant = await tenantWithRejects(round);
      await using child = await startRollcall(['run'], tenant.configText);
      await expectHealsBy(child, tenant);
      await lose(tenant, 'results', 'deleted and recreated');
      await healed(tenant, NOTICED_WITHIN_MS);
      child.kill('SIGTERM');
      await endsSoon(child, 0);
      expect(await allProblems(tenant, { lost: ['results'] })).toEqual([]);
    });
  },
);
