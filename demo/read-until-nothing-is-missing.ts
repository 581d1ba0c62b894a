import { setTimeout as delay } from 'node:timers/promises';
import type { TenantSession } from '../src/session/open-session.ts';
import type { TenantRun } from '../src/worker/tenant-run.ts';

/** A row is removed by the second full sync in a row that misses it, or by the third. */
const MOST_ROUNDS = 10;

/**
 * Runs full syncs of all collections until the last one of each found every row that the topic has. `onRound` is called
 * before each round, with how many rows the round before did not find.
 */
export async function readUntilNothingIsMissing(
  run: Pick<TenantRun, 'session' | 'failure'>,
  { signal, onRound }: { signal: AbortSignal; onRound: (missing: number) => void },
): Promise<void> {
  let missing = 0;
  for (let round = 1; round <= MOST_ROUNDS; round += 1) {
    onRound(missing);
    const session = await openedSession(run, signal);
    const isRead = await readAll(session).then(
      () => true,
      // The session has ended. The next one reads again.
      () => false,
    );
    missing = missingIn(session);
    if (isRead && missing === 0) return;
  }
}

async function openedSession(
  run: Pick<TenantRun, 'session' | 'failure'>,
  signal: AbortSignal,
): Promise<TenantSession> {
  while (run.session === null) {
    if (run.failure !== null) throw run.failure;
    await delay(200, undefined, { signal });
  }
  return run.session;
}

/** Collections whose rows others need come first. */
async function readAll({ runners }: TenantSession): Promise<void> {
  for (const hasParents of [false, true]) {
    const some = [...runners.values()].filter((runner) => (runner.parents !== undefined) === hasParents);
    await Promise.all(some.map((runner) => runner.request('FULL')));
  }
}

function missingIn({ writers }: TenantSession): number {
  return [...writers.values()].reduce(
    (sum, { progress }) => sum + (progress?.lastCompleteFull?.rowsNotFound ?? 1),
    0,
  );
}
