import { expect, it } from 'vitest';
import { IS_FULL } from '../../run/rounds.ts';
import { playProducer } from './producer-history.ts';

const HISTORIES = IS_FULL ? 20_000 : 500;
/** So that a seed which the short run never plays does so at full length. */
const FIRST_SEED = IS_FULL ? 10_001 : 1;

it('each transaction is committed whole, once and in order, whatever becomes of its requests', async () => {
  const happened = new Set<string>();
  for (let seed = FIRST_SEED; seed < FIRST_SEED + HISTORIES; seed += 1) {
    const played = await playProducer(seed);
    expect(played.problems, `seed ${seed}`).toEqual([]);
    for (const what of played.happened.keys()) happened.add(what);
  }
  expect(happened).toContain('kafka: a leader recognised a batch');
});
