import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { triageCandidates } from '../../../src/core/missing-rows.ts';

describe('the candidates for removal', () => {
  const missed = (...keys: string[]) => new Map(keys.map((key) => [key, 'earlier-pass']));

  it('a proven sync asks for each candidate again before it is removed', () => {
    const triage = triageCandidates({
      candidates: ['a', 'b'],
      missedBefore: missed('a'),
      needsSecondSync: false,
      recheckAtMost: 100,
    });
    expect(triage).toEqual({ confirm: ['a', 'b'], remove: [], wait: [] });
  });

  it('of more candidates than can be requested, only those are removed that two syncs missed', () => {
    const triage = triageCandidates({
      candidates: ['a', 'b', 'c'],
      missedBefore: missed('b'),
      needsSecondSync: false,
      recheckAtMost: 2,
    });
    expect(triage).toEqual({ confirm: [], remove: ['b'], wait: ['a', 'c'] });
  });

  it('one miss by an unproven sync removes nothing', () => {
    const triage = triageCandidates({
      candidates: ['a', 'b'],
      missedBefore: missed('b'),
      needsSecondSync: true,
      recheckAtMost: 100,
    });
    expect(triage).toEqual({ confirm: ['b'], remove: [], wait: ['a'] });
  });

  it('each candidate is decided exactly once, and none is removed unasked after a single miss', () => {
    const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'));
    fc.assert(
      fc.property(
        keys,
        keys,
        fc.boolean(),
        fc.nat(8),
        (candidates, before, needsSecondSync, recheckAtMost) => {
          const triage = triageCandidates({
            candidates,
            missedBefore: missed(...before),
            needsSecondSync,
            recheckAtMost,
          });
          const decided = [...triage.confirm, ...triage.remove, ...triage.wait];
          expect(decided.toSorted()).toEqual(candidates.toSorted());
          for (const key of triage.remove) expect(before).toContain(key);
          if (needsSecondSync) for (const key of triage.confirm) expect(before).toContain(key);
          expect(triage.confirm.length).toBeLessThanOrEqual(recheckAtMost);
        },
      ),
    );
  });
});
