import { describe, expect, it, vi } from 'vitest';
import { startRollcall, type RollcallProcess } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems } from '../support/checker.ts';
import { IS_FULL, ROUNDS } from '../support/rounds.ts';
import { churnedTenant, endsSoon, expectHealsBy } from '../support/survive.ts';

const TURNS = IS_FULL ? 10 : 3;

describe.each(ROUNDS)('several workers on one tenant, round %i', (round) => {
  it('each takes over from the one before, which exits with 1, and nothing is lost or published twice', async () => {
    await using tenant = await churnedTenant(round);
    await using workers = new AsyncDisposableStack();
    let before: RollcallProcess | null = null;
    for (let turn = 0; turn < TURNS; turn += 1) {
      using _ = tenant.churn.live(30);
      const worker = workers.use(await startRollcall(['run'], tenant.configText));
      await worker.says('the tenant is owned');
      if (before !== null) await endsSoon(before, 1);
      before = worker;
    }
    if (before === null) throw new Error('no worker was started');
    await expectHealsBy(before, tenant);
    before.kill('SIGTERM');
    await endsSoon(before, 0);
    expect(await allProblems(tenant)).toEqual([]);
  });

  it('of three that start at once one stays and the others exit with 1, and nothing is lost or published twice', async () => {
    await using tenant = await churnedTenant(10 + round);
    await using workers = new AsyncDisposableStack();
    const running = new Set<RollcallProcess>();
    const unexpected: unknown[] = [];
    {
      using _ = tenant.churn.live(30);
      for (let count = 0; count < 3; count += 1) {
        const worker = workers.use(await startRollcall(['run'], tenant.configText));
        running.add(worker);
        worker
          .endsWith(1)
          .then(() => running.delete(worker))
          .catch((error: unknown) => (running.has(worker) ? unexpected.push(error) : null));
      }
      await vi.waitFor(() => expect(running.size).toBe(1), { timeout: 60_000, interval: 100 });
    }
    const [last] = running;
    if (last === undefined) throw new Error('every worker has ended');
    await expectHealsBy(last, tenant);
    expect(unexpected).toEqual([]);
    expect(running.size).toBe(1);
    running.clear();
    last.kill('SIGTERM');
    await endsSoon(last, 0);
    // The check comes last because topics and index differ between a commit and the write to the index.
    expect(await allProblems(tenant)).toEqual([]);
  });
});
