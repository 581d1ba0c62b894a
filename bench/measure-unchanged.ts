import type { Bench } from './bench.ts';
import { COLLECTION, FULL, startPublisher, TENANT } from './chain-publishers.ts';
import type { Child } from './child-process.ts';
import type { FloorRound } from './floor-process.ts';
import { spreadOf, type Spread } from './spread.ts';
import { oneSync, timesFloor, unchangedSync } from './syncs.ts';

/** Full syncs of unchanged rows, times a plain download with `JSON.parse` measured just before. */
export interface UnchangedNumbers {
  readonly timesFetch: Spread;
}

/** Floor and syncs take turns, so that other load of the machine affects all of them. */
export async function measureUnchanged(bench: Bench, floor: Child): Promise<UnchangedNumbers> {
  await using publisher = await startPublisher(bench, 'without');
  const { child } = publisher;
  await child.call('own', TENANT);
  await oneSync(child, FULL);
  // These do not count, because V8 compiles hot code then.
  await floor.call('measure', COLLECTION);
  await unchangedSync(child, FULL);
  const times: number[] = [];
  for (let round = 1; round <= bench.rounds; round += 1) {
    bench.print(`unchanged rows, ${round} of ${bench.rounds}`);
    const beside = await floor.call<FloorRound>('measure', COLLECTION);
    times.push(timesFloor(await unchangedSync(child, FULL), beside));
    // A hub that re-stamps everything changes nothing either.
    await bench.hub.control('district', { calls: [{ do: 'restamp' }] });
    await unchangedSync(child, FULL);
  }
  return { timesFetch: spreadOf(times) };
}
