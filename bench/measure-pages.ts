import type { Bench } from './bench.ts';
import { startChild, type Child } from './child-process.ts';
import { configText } from './config-text.ts';
import type { SyncRequest, SyncRound } from './log-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { oneSync, perSecond, unchangedSync } from './syncs.ts';

/** Full pulls from a hub that takes its time, with several requests at once and with one at a time. */
export interface PageNumbers {
  readonly rows: number;
  readonly first: AtOnce;
  readonly unchanged: AtOnce;
}

interface AtOnce {
  readonly severalPerSecond: Spread;
  readonly onePerSecond: Spread;
  /** Of each round. */
  readonly times: Spread;
}

const PAGE_TAKES_MS = 200;
const AT_ONCE = 8;
/** A pull with one request at a time mostly waits, so more rounds say little more. */
const MOST_ROUNDS = 2;
const COLLECTION = 'absence-versions';

type Kind = 'several' | 'one';
type Rounds = Record<Kind, SyncRound[]>;

export async function measurePages(bench: Bench): Promise<PageNumbers> {
  const { hub, signal } = bench;
  await using several = startChild(new URL('log-process.ts', import.meta.url), signal);
  await using one = startChild(new URL('log-process.ts', import.meta.url), signal);
  const publishers = { several, one };
  await open(bench, several, AT_ONCE);
  await open(bench, one, 1);
  await hub.control('faults', { set: [`latency=${PAGE_TAKES_MS}@absences`] });
  try {
    return await measureRounds(bench, publishers);
  } finally {
    await hub.control('faults', { clear: ['latency'] });
    for (const publisher of [several, one])
      await publisher
        .call('cleanUp')
        .catch(() => bench.print('the topics and keys of the pages part could not be removed'));
  }
}

async function open(bench: Bench, publisher: Child, maxConcurrentRequests: number): Promise<void> {
  const { stack, hub } = bench;
  await publisher.call(
    'open',
    configText({
      stack,
      hub,
      name: `pages-${maxConcurrentRequests}`,
      tenantIds: tenantsOf(bench),
      collections: [COLLECTION],
      hasRedis: true,
      maxConcurrentRequests,
    }),
  );
}

/** Each first pull needs topics of its own. */
function tenantsOf({ rounds }: Bench): string[] {
  return Array.from({ length: Math.min(rounds, MOST_ROUNDS) }, (_, round) => `district-${round + 1}`);
}

async function measureRounds(bench: Bench, publishers: Record<Kind, Child>): Promise<PageNumbers> {
  const first: Rounds = { several: [], one: [] };
  const unchanged: Rounds = { several: [], one: [] };
  for (const tenantId of tenantsOf(bench)) {
    const request: SyncRequest = { tenantId, collection: COLLECTION, mode: 'FULL' };
    bench.print(`pages of ${PAGE_TAKES_MS} ms: ${tenantId}`);
    for (const kind of ['several', 'one'] as const) {
      const publisher = publishers[kind];
      await publisher.call('own', tenantId);
      first[kind].push(await oneSync(publisher, request));
      unchanged[kind].push(await unchangedSync(publisher, request));
    }
  }
  return { rows: first.one[0]?.rowsSeen ?? 0, first: atOnce(first), unchanged: atOnce(unchanged) };
}

function atOnce(rounds: Rounds): AtOnce {
  const several = rounds.several.map(perSecond);
  const one = rounds.one.map(perSecond);
  return {
    severalPerSecond: spreadOf(several),
    onePerSecond: spreadOf(one),
    times: spreadOf(several.map((rate, round) => rate / (one[round] ?? Number.NaN))),
  };
}
