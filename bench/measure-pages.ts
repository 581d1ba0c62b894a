import type { Bench } from './bench.ts';
import { COLLECTION, startPublisher } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { SyncRequest } from './log-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { oneSync, perSecond, unchangedSync } from './syncs.ts';

/** Rows a second from a hub that takes its time: those with several requests at once, times those with one at a time. */
export interface PageNumbers {
  readonly rows: number;
  readonly firstTimes: Spread;
  readonly unchangedTimes: Spread;
}

const PAGE_TAKES_MS = 200;
const AT_ONCE = 8;
/** A pull with one request at a time mostly waits, so more rounds say little more. */
const MOST_ROUNDS = 2;

export async function measurePages(bench: Bench): Promise<PageNumbers> {
  // Each first pull needs topics of its own.
  const tenantIds = Array.from({ length: Math.min(bench.rounds, MOST_ROUNDS) }, (_, at) => `district-${at}`);
  await using several = await startPublisher(bench, 'without', { tenantIds, maxConcurrentRequests: AT_ONCE });
  await using one = await startPublisher(bench, 'without', { tenantIds, maxConcurrentRequests: 1 });
  await bench.hub.control('faults', { set: [`latency=${PAGE_TAKES_MS}@absences`] });
  try {
    const rounds: { rows: number; first: number; unchanged: number }[] = [];
    for (const tenantId of tenantIds) {
      bench.print(`pages of ${PAGE_TAKES_MS} ms: ${tenantId}`);
      const fast = await pull(several.child, tenantId);
      const slow = await pull(one.child, tenantId);
      rounds.push({
        rows: slow.rows,
        first: fast.first / slow.first,
        unchanged: fast.unchanged / slow.unchanged,
      });
    }
    return {
      rows: rounds[0]?.rows ?? 0,
      firstTimes: spreadOf(rounds.map(({ first }) => first)),
      unchangedTimes: spreadOf(rounds.map(({ unchanged }) => unchanged)),
    };
  } finally {
    await bench.hub.control('faults', { clear: ['latency'] });
  }
}

/** A first pull and an unchanged one, rows a second. */
async function pull(
  child: Child,
  tenantId: string,
): Promise<{ rows: number; first: number; unchanged: number }> {
  const request: SyncRequest = { tenantId, collection: COLLECTION, mode: 'FULL' };
  await child.call('own', tenantId);
  const first = await oneSync(child, request);
  const unchanged = await unchangedSync(child, request);
  return { rows: first.rowsSeen, first: perSecond(first), unchanged: perSecond(unchanged) };
}
