import { describe, expect, it, vi } from 'vitest';
import { startRollcall, type RollcallProcess } from '../../integration/pipeline/rollcall-process.ts';
import { allProblems } from '../support/checker.ts';
import { IS_FULL, ROUNDS } from '../../run/rounds.ts';
import { churnedTenant, endsSoon, expectHealsBy } from '../support/survive.ts';

const TURNS = IS_FULL ? 10 : 3;

describe.each(ROUNDS)('several workers on one tenant, round %i', (round) => {
  it('each takes over from the one before, which ends or is killed, and nothing is lost or published twice', async () => {
    await using tenant = await churnedTenant(round);
    await using workers = new AsyncDisposableStack();
    let before: RollcallProcess | null = null;
    for (let turn = 0; turn < TURNS; turn += 1) {
      using _ = tenant.churn.live(30);
      const worker = workers.use(await startRollcall(['run'], tenant.configText));
      if (before !== null) {
        await worker.says('no tenant is assigned to this process');
        const isKilled = turn % 2 === 0;
        before.kill(isKilled ? 'SIGKILL' : 'SIGTERM');
        await endsSoon(before, isKilled ? 'SIGKILL' : 0);
      }
      await worker.says('the tenant is owned');
      before = worker;
    }
    if (before === null) throw new Error('no worker was started');
    await expectHealsBy(before, tenant);
    before.kill('SIGTERM');
    await endsSoon(before, 0);
    expect(await allProblems(tenant)).toEqual([]);
  });

  it('of three that start at once one mirrors and the others wait for it to end, and nothing is lost or published twice', async () => {
    await using tenant = await churnedTenant(10 + round);
    await using workers = new AsyncDisposableStack();
    const waiting = new Set<RollcallProcess>();
    {
      using _ = tenant.churn.live(30);
      for (let count = 0; count < 3; count += 1)
        waiting.add(workers.use(await startRollcall(['run'], tenant.configText)));
      while (waiting.size > 1) {
        const mirroring = await ownerAmong(waiting);
        waiting.delete(mirroring);
        mirroring.kill('SIGTERM');
        await endsSoon(mirroring, 0);
      }
    }
    const last = await ownerAmong(waiting);
    await expectHealsBy(last, tenant);
    last.kill('SIGTERM');
    await endsSoon(last, 0);
    // The check comes last because topics and index differ between a commit and the write to the index.
    expect(await allProblems(tenant)).toEqual([]);
  });
});

/** Waits until one of them says that it owns the tenant. */
function ownerAmong(workers: ReadonlySet<RollcallProcess>): Promise<RollcallProcess> {
  return vi.waitFor(
    () => {
      const owner = [...workers].find((each) => each.output().includes('the tenant is owned'));
      if (owner === undefined) throw new Error('no worker owns the tenant');
      return owner;
    },
    { timeout: 60_000, interval: 100 },
  );
}
